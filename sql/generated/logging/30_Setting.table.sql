SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The choices installed now: what a later deployment compares itself with. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[Setting]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[Setting]
    (
        Name nvarchar(60) NOT NULL,
        Value nvarchar(400) NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Setting_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Setting] PRIMARY KEY CLUSTERED (Name)
    );
    EXECUTE [logging].[usp_Mark] N'TABLE', N'Setting';
    COMMIT TRANSACTION;
END;
GO
