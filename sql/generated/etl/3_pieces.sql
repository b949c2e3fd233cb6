/* Redial 0.1.0, configuration etl: 3_pieces.sql, sending what may be sent again, as Spark does. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'3_pieces.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'cb921dde8c51202a [2-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'2_bulk.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 3_pieces.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What has been sent in pieces that may be run again (a Spark job's partitions): one row a piece, made
   in the transaction of its messages, so a row tells that all of them went out, and no row that none
   did. Read and written by usp_BeginPartition and usp_EndPartition only. JobId is compared byte by
   byte. MessageCount and ContentHash are NULL inside that transaction alone. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[etl].[SendLedger]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[SendLedger]
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
        ON [etl].[SendLedger] (SentUtc);
    ALTER TABLE [etl].[SendLedger] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N'TABLE', N'SendLedger';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_BeginPartition]
    @jobId nvarchar(4000),              /* name of the job, the same when it is run again; 1 to 128 characters */
    @batchId bigint,                    /* its batch: of a stream the number Spark gives it, else 0 */
    @partitionId int,                   /* the piece of the batch, 0 or more */
    @chunk int = 0                      /* part of the piece, 0 or more; 0 where it goes out as one */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Asks whether a piece of work that may be run twice still has to be sent. Called in the transaction
   that then sends it and ends with usp_EndPartition. Returns 0 and one row: AlreadySent bit,
   MessageCount bigint, ContentHash binary(32), SentUtc datetime2(3); the last three are NULL where
   AlreadySent is 0.
   AlreadySent = 1: send nothing, call usp_EndPartition all the same, which compares.
   Locks: the ledger's row before any row R of usp_Send; a second attempt at the same piece waits here,
   holding nothing, until the first commits or is rolled back. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the look-up (F-331) */
    SET XACT_ABORT OFF;                 /* 2627 below is an answer, and must not doom the caller's work */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @job nvarchar(128) = LEFT(@jobId, 128);
    DECLARE @attempt int = 0;
    DECLARE @found bit = 0;
    DECLARE @messages bigint = NULL;
    DECLARE @hash binary(32) = NULL;
    DECLARE @sentUtc datetime2(3) = NULL;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs                                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT = 0
        THROW 50241, N'usp_BeginPartition must be called in the transaction that sends the messages: BEGIN TRANSACTION first.', 1;
    IF ISNULL(DATALENGTH(@jobId), 0) NOT BETWEEN 2 AND 256
        SET @errors = @errors + N'@jobId must be a name of 1 to 128 characters. ';
    IF @batchId IS NULL
        SET @errors = @errors + N'@batchId must be a bigint, not NULL. ';
    IF ISNULL(@partitionId, -1) < 0
        SET @errors = @errors + N'@partitionId must be 0 to 2147483647. ';
    IF ISNULL(@chunk, -1) < 0
        SET @errors = @errors + N'@chunk must be 0 to 2147483647. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50240, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Make the row; one that is there tells that the piece is sent. Twice at most: it can go     */
    /*    between the refusal and the look (usp_PurgeSendLedger)                                     */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        SELECT @found = 1, @messages = sl.MessageCount, @hash = sl.ContentHash, @sentUtc = sl.SentUtc
        FROM [etl].[SendLedger] AS sl
            /* READCOMMITTEDLOCK: wait for an attempt that is sending this piece now, also in a database
               of row versions, where a plain read would not see it. One row of the clustered key. */
            WITH (READCOMMITTEDLOCK, ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)
        WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk;
        IF @found = 1
            BREAK;

        BEGIN TRY
            INSERT INTO [etl].[SendLedger] (JobId, BatchId, PartitionId, Chunk)
            VALUES (@job, @batchId, @partitionId, @chunk);
            BREAK;
        END TRY
        BEGIN CATCH
            /* 2627: another attempt has just sent it; look again. */
            IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @attempt >= 3
                THROW;
        END CATCH;
    END;

    IF @found = 1 AND @messages IS NULL
        THROW 50242, N'This piece was begun and not ended: usp_BeginPartition and usp_EndPartition are called once each, in one transaction.', 1;

    SELECT @found AS AlreadySent, @messages AS MessageCount, @hash AS ContentHash, @sentUtc AS SentUtc;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_EndPartition]
    @jobId nvarchar(4000),              /* these four as in usp_BeginPartition */
    @batchId bigint,
    @partitionId int,
    @chunk int = 0,                     /* 0 where the piece went out as one */
    @messageCount bigint,               /* messages of the piece, sent now or already */
    @contentHash binary(32)             /* SHA2_256 over them, by a rule of the caller's that stays the same */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Ends a piece that usp_BeginPartition began. Sent now: its count and hash are kept. Sent already: they
   are compared, and a run that would have sent something else raises 50243: the job is not
   deterministic, and neither run is the right one. Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the look-up (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @job nvarchar(128) = LEFT(@jobId, 128);
    DECLARE @messages bigint = NULL;
    DECLARE @hash binary(32) = NULL;
    DECLARE @sentUtc datetime2(3) = NULL;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs                                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT = 0
        THROW 50241, N'usp_EndPartition must be called in the transaction of usp_BeginPartition, before its COMMIT.', 1;
    IF ISNULL(DATALENGTH(@jobId), 0) NOT BETWEEN 2 AND 256
        SET @errors = @errors + N'@jobId must be a name of 1 to 128 characters. ';
    IF ISNULL(@messageCount, -1) < 0
        SET @errors = @errors + N'@messageCount must be 0 or more. ';
    IF @contentHash IS NULL
        SET @errors = @errors + N'@contentHash must be 32 bytes, not NULL. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50240, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  The row of this transaction is the only one that can be open                              */
    /* ----------------------------------------------------------------------------------------- */
    UPDATE sl
    SET MessageCount = @messageCount, ContentHash = @contentHash
    FROM [etl].[SendLedger] AS sl
        WITH (ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)  /* one row, by its clustered key */
    WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk
      AND sl.MessageCount IS NULL;
    IF @@ROWCOUNT = 1
        RETURN 0;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Sent before: the same?                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    SELECT @messages = sl.MessageCount, @hash = sl.ContentHash, @sentUtc = sl.SentUtc
    FROM [etl].[SendLedger] AS sl
        WITH (READCOMMITTEDLOCK, ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)   /* the same row */
    WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk;
    IF @messages IS NULL
        THROW 50242, N'There is no such piece: call usp_BeginPartition first, in the same transaction.', 1;

    IF @messages <> @messageCount OR @hash <> @contentHash
    BEGIN
        SET @errors = CONCAT(N'Job ', @job, N', batch ', @batchId, N', partition ', @partitionId, N', chunk ', @chunk,
            N' was sent at ', CONVERT(nvarchar(30), @sentUtc, 126), N' UTC with ', @messages,
            N' messages, and this run has ', @messageCount, CASE WHEN @messages = @messageCount THEN N' others' END,
            N'. Nothing was sent now. Next: make its input deterministic (no rand, no round robin over retries, a fixed order), or run it under a new job id.');
        SET @errors = REPLACE(@errors, N'%', N'%%');    /* F-133 */
        THROW 50243, @errors, 1;
    END;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_PurgeSendLedger]
    @olderThanDays int = NULL,          /* 1 to 36500; NULL: retention.log_days = 30 */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Forgets which pieces of jobs were sent long ago; a forgotten piece that is run again is sent again.
   Oldest first, a small transaction after the other; waits for nobody (READPAST), so it is in no circle
   of waits. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;

    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeSendLedger: Forgets which pieces of jobs were sent long ago; a forgotten piece that is run again is sent again.
  @olderThanDays  age in days, 1 to 36500; default: retention.log_days = 30
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [etl].[usp_PurgeSendLedger] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeSendLedger must be called outside a transaction: it deletes in small ones.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 30);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 1 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 1 to 36500. ';
    /* 5,000 locks of one statement on one table make the server try for a lock on all of it (F-166). */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50244, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    DECLARE @pieces TABLE
    (
        JobId nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        BatchId bigint NOT NULL,
        PartitionId int NOT NULL,
        Chunk int NOT NULL,
        PRIMARY KEY CLUSTERED (JobId, BatchId, PartitionId, Chunk)
    );

    IF @WhatIf = 1
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[SendLedger] AS sl
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)  /* waits for nobody */
        WHERE sl.SentUtc < @before;

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE FROM @pieces;
        INSERT INTO @pieces (JobId, BatchId, PartitionId, Chunk)
        SELECT TOP (@batch) sl.JobId, sl.BatchId, sl.PartitionId, sl.Chunk
        FROM [etl].[SendLedger] AS sl
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; the index holds the old ones together. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)
        WHERE sl.SentUtc < @before
        ORDER BY sl.SentUtc;

        DELETE sl
        FROM [etl].[SendLedger] AS sl
            /* XLOCK, READPAST: a row somebody compares with just now stays; no lock that is got and then
               has to wait for more, so the purge is in no circle with a sender. */
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        INNER JOIN @pieces AS p
            ON p.JobId = sl.JobId AND p.BatchId = sl.BatchId AND p.PartitionId = sl.PartitionId AND p.Chunk = sl.Chunk;

        SET @found = @@ROWCOUNT;
        SET @rows = @rows + @found;
        IF @Debug = 1
            PRINT CONCAT(@found, N' rows deleted, ', @rows, N' in all');
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'usp_PurgeSendLedger', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'cb921dde8c51202a 3', @level0type = N'SCHEMA', @level0name = N'etl';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
