SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What went wrong and what to do next. Activated procedures write here instead of RAISERROR WITH
   LOG, which their principal may not use (2778). */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[ErrorLog]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[ErrorLog]
    (
        ErrorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_ErrorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        ProcedureName nvarchar(128) NOT NULL,
        ConversationHandle uniqueidentifier NULL,
        MessageSequence bigint NULL,
        ErrorNumber int NULL,
        ErrorLine int NULL,
        ErrorMessage nvarchar(4000) NULL,
        CONSTRAINT [PK_ErrorLog] PRIMARY KEY CLUSTERED (ErrorLogId)
    );
    EXECUTE [logging].[usp_Mark] N'TABLE', N'ErrorLog';
    COMMIT TRANSACTION;
END;
GO
