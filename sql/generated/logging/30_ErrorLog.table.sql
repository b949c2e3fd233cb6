SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What went wrong and what to do next. Activated procedures write here instead of RAISERROR WITH
   LOG, which their principal may not use (2778, F-117). */
IF OBJECT_ID(N'[logging].[ErrorLog]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[ErrorLog]
    (
        ErrorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_ErrorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        ProcedureName nvarchar(128) NOT NULL,
        ConversationHandle uniqueidentifier NULL,
        MessageSequence bigint NULL,
        ErrorNumber int NULL,
        ErrorLine int NULL,
        ErrorMessage nvarchar(4000) NULL,
        CONSTRAINT [PK_ErrorLog] PRIMARY KEY CLUSTERED (ErrorLogId)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'SCHEMA', @level0name = N'logging', @level1type = N'TABLE', @level1name = N'ErrorLog';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
