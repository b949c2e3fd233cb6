SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages of one call of usp_SendBatch, sent in the order of Ordinal. Every column is wider than what
   may be in it, so that a wrong value gets an error of ours that names its ordinal, and not the
   server's 8152, which names nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'audit') AND tt.name = N'MessageBatch')
BEGIN
    BEGIN TRANSACTION;
    CREATE TYPE [audit].[MessageBatch] AS TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY CLUSTERED,     /* any numbers, gaps too; each once */
        MessageType nvarchar(256) NULL,                 /* required, as in usp_Send */
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL
    );
    EXECUTE [audit].[usp_Mark] N'TYPE', N'MessageBatch';
    COMMIT TRANSACTION;
END;
GO
