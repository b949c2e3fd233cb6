SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators did, who and why: gate closed, dead letters replayed or purged, dialogs ended. */
IF OBJECT_ID(N'[etl].[OperatorLog]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[OperatorLog]
    (
        OperatorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_OperatorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Login nvarchar(128) NOT NULL
            CONSTRAINT [DF_OperatorLog_Login] DEFAULT (ORIGINAL_LOGIN()),
        Action nvarchar(60) NOT NULL,
        Detail nvarchar(3000) NULL,
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_OperatorLog] PRIMARY KEY CLUSTERED (OperatorLogId)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'OperatorLog';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
