SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What has been sent in pieces that may be run again (a Spark job's partitions): one row a piece, made
   in the transaction of its messages, so a row tells that all of them went out, and no row that none
   did. Read and written by usp_BeginPartition and usp_EndPartition only. JobId is compared byte by
   byte. MessageCount and ContentHash are NULL inside that transaction alone. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[SendLedger]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[SendLedger]
    (
        JobId nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        BatchId bigint NOT NULL,
        PartitionId int NOT NULL,
        Chunk int NOT NULL,
        MessageCount bigint NULL,
        ContentHash binary(32) NULL,
        SentUtc datetime2(3) NOT NULL CONSTRAINT [DF_SendLedger_SentUtc] DEFAULT (SYSUTCDATETIME()),
        SentBy nvarchar(128) NOT NULL CONSTRAINT [DF_SendLedger_SentBy] DEFAULT (ORIGINAL_LOGIN()),
        CONSTRAINT [PK_SendLedger] PRIMARY KEY CLUSTERED (JobId, BatchId, PartitionId, Chunk)
    );
    /* For the purge alone. No sender changes SentUtc once its row is there. */
    CREATE NONCLUSTERED INDEX [IX_SendLedger_SentUtc]
        ON [logging].[SendLedger] (SentUtc);
    ALTER TABLE [logging].[SendLedger] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [logging].[usp_Mark] N'TABLE', N'SendLedger';
    COMMIT TRANSACTION;
END;
GO
