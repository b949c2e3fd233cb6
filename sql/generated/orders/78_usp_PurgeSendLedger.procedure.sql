SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_PurgeSendLedger]
    @olderThanDays int = NULL,          /* 1 to 36500; NULL: retention.log_days = 90 */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
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
  @olderThanDays  age in days, 1 to 36500; default: retention.log_days = 90
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [orders].[usp_PurgeSendLedger] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeSendLedger must be called outside a transaction: it deletes in small ones.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 90);
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
        FROM [orders].[SendLedger] AS sl
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)  /* waits for nobody */
        WHERE sl.SentUtc < @before;

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE FROM @pieces;
        INSERT INTO @pieces (JobId, BatchId, PartitionId, Chunk)
        SELECT TOP (@batch) sl.JobId, sl.BatchId, sl.PartitionId, sl.Chunk
        FROM [orders].[SendLedger] AS sl
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; the index holds the old ones together. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)
        WHERE sl.SentUtc < @before
        ORDER BY sl.SentUtc;

        DELETE sl
        FROM [orders].[SendLedger] AS sl
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
        INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'usp_PurgeSendLedger', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
