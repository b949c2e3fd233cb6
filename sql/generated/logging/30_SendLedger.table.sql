SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What has been sent in pieces that may be run again (a Spark job's partitions): one row a piece, made
   in the transaction of its messages, so a row tells that all of them went out, and no row that none
   did. Read and written by usp_BeginPartition and usp_EndPartition only. JobId is compared byte by
   byte. MessageCount and ContentHash are NULL inside that transaction alone. */
IF OBJECT_ID(N'[logging].[SendLedger]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[SendLedger]
    (
        JobId nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        BatchId bigint NOT NULL,
        PartitionId int NOT NULL,
        Chunk int NOT NULL,
        MessageCount bigint NULL,
        ContentHash binary(32) NULL,
        SentUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_SendLedger_SentUtc] DEFAULT (SYSUTCDATETIME()),
        SentBy nvarchar(128) NOT NULL
            CONSTRAINT [DF_SendLedger_SentBy] DEFAULT (ORIGINAL_LOGIN()),
        CONSTRAINT [PK_SendLedger] PRIMARY KEY CLUSTERED (JobId, BatchId, PartitionId, Chunk)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    /* For the purge alone. No sender changes SentUtc once its row is there. */
    CREATE NONCLUSTERED INDEX [IX_SendLedger_SentUtc]
        ON [logging].[SendLedger] (SentUtc)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [logging].[SendLedger] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'SCHEMA', @level0name = N'logging', @level1type = N'TABLE', @level1name = N'SendLedger';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
