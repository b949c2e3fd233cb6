SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages of one call of usp_SendBatch, sent in the order of Ordinal. Every column is wider than what
   may be in it, so that a wrong value gets an error of ours that names its ordinal, and not the
   server's 8152, which names nothing. */
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'etl') AND tt.name = N'MessageBatch')
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TYPE [etl].[MessageBatch] AS TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY CLUSTERED,     /* any numbers, gaps too; each once */
        MessageType nvarchar(256) NULL,                 /* required, as in usp_Send */
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TYPE', @level1name = N'MessageBatch';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
