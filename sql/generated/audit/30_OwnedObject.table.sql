SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Objects this configuration created that cannot carry a mark (20_security/marks.inc.j2): Agent jobs,
   broker priorities. Uninstall drops these and nothing else of their kinds. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[OwnedObject]
    (
        Kind nvarchar(30) NOT NULL,
        Name nvarchar(128) NOT NULL,
        CreatedUtc datetime2(3) NOT NULL CONSTRAINT [DF_OwnedObject_CreatedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_OwnedObject] PRIMARY KEY CLUSTERED (Kind, Name)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'OwnedObject';
    COMMIT TRANSACTION;
END;
GO
