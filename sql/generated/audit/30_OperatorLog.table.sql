SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators did, who and why: gate closed, dead letters replayed or purged, dialogs ended. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[OperatorLog]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[OperatorLog]
    (
        OperatorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_OperatorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Login nvarchar(128) NOT NULL CONSTRAINT [DF_OperatorLog_Login] DEFAULT (ORIGINAL_LOGIN()),
        Action nvarchar(60) NOT NULL,
        Detail nvarchar(3000) NULL,
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_OperatorLog] PRIMARY KEY CLUSTERED (OperatorLogId)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'OperatorLog';
    COMMIT TRANSACTION;
END;
GO
