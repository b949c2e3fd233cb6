SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_PurgeSendLedger]
    @olderThanDays int = NULL,          /* 1 to 36500; NULL: 30 */
    @batch int = 4000,                  /* rows of one transaction */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,
    @Help bit = 0
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Forgets which pieces of jobs were sent long ago. A piece that is run again after that is sent again:
   keep longer than any job may be run again. Returns one row: WhatIf bit, OlderThanUtc datetime2(3),
   Affected bigint. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else all batches were one transaction (F-137) */

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @days int = ISNULL(@olderThanDays, 30);
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;
    DECLARE @pieces TABLE
    (
        JobId nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        BatchId bigint NOT NULL,
        PartitionId int NOT NULL,
        Chunk int NOT NULL,
        PRIMARY KEY CLUSTERED (JobId, BatchId, PartitionId, Chunk)
    );

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeSendLedger: forgets which pieces of jobs were sent long ago. A forgotten piece that is run again is sent again.
  @olderThanDays  age in days, 1 to 36500; 30 (retention.log_days) by default
  @batch          rows of one transaction, 1 to 4900; default 4000
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example:
  EXECUTE ' + N'[etl].[usp_PurgeSendLedger]' + N' @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeSendLedger must be called outside a transaction: it deletes in small ones.', 1;
    IF ISNULL(@days, 0) NOT BETWEEN 1 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 1 to 36500 (NULL only where [retention].log_days is above 0). ';
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50244, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Oldest first, looked up holding nothing, deleted by key; a row in use is passed over       */
    /* ----------------------------------------------------------------------------------------- */
    SET @before = DATEADD(day, -@days, SYSUTCDATETIME());

    IF @WhatIf = 1
    BEGIN
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[SendLedger] AS sl
            /* READPAST, READCOMMITTEDLOCK: a figure to look at; waits for nobody. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)
        WHERE sl.SentUtc < @before;
    END;

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
        INSERT INTO [etl].[OperatorLog] (Action, Detail)
        VALUES (N'usp_PurgeSendLedger', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)));

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
