SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_ReorganizeQueue]
    @queue nvarchar(128) = NULL,        /* NULL: both */
    @rebuild bit = 0,                   /* 1: REBUILD instead of REORGANIZE: all pages anew, in one transaction */
    @waitSeconds int = 30,              /* 0 to 3600: how long to wait for readers that are at work */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each try */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: puts the pages of a queue in order after a backlog. A long backlog leaves them half empty and
   full of ghosts, and RECEIVE then reads many for each message. Both forms are offline: the queue is locked
   until they are through, and who sends or receives waits (F-500). REORGANIZE keeps what it has done when it
   is stopped; REBUILD does not.
   ALTER QUEUE waits for every open RECEIVE, and who sends or receives waits behind it (F-130): so it waits
   two seconds at a time and lets them pass in between.
   Result set, one row a queue: QueueName nvarchar(128), Figure nvarchar(200), Outcome nvarchar(400).
   Returns 0, or 1: not all is done; call again. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @queues TABLE (QueueName nvarchar(128) NOT NULL PRIMARY KEY, Figure nvarchar(200) NULL, IsDue bit NOT NULL, Outcome nvarchar(400) NULL);
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @name nvarchar(128);
    DECLARE @deadline datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N'usp_ReorganizeQueue puts the pages of queues of configuration etl in order.
  @queue        its name; NULL: both queues of the configuration that are in this database
  @rebuild      1: REBUILD instead of REORGANIZE: all pages anew, in one transaction, with room for them in the log
  @waitSeconds  0 to 3600, 30 by default: how long to wait for readers that are at work
  @reason       why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf       1 (default): only show; 0: do it
  @Debug        1: print each try
Example: EXECUTE [etl].[usp_ReorganizeQueue] @reason = N''disk is free again'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50281, N'usp_ReorganizeQueue must be called outside a transaction: altering a queue keeps its senders waiting until the end of one.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* see above */

    IF @queue IS NOT NULL AND @queue NOT IN (N'InitiatorQueue', N'TargetQueue')
        SET @errors = @errors + N'@queue must be InitiatorQueue or TargetQueue, or NULL for both. ';
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N'@waitSeconds must be 0 to 3600. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50280, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    INSERT INTO @queues (QueueName, Figure, IsDue)
    SELECT q.QueueName, CONCAT(N'about ', q.Messages, N' messages'), 1
    FROM [etl].[ufn_Queues]() AS q
    WHERE q.QueueName = ISNULL(@queue, q.QueueName);

    /* A level below, so that a right that is missing is told and stops nothing. */
    CREATE TABLE #pages (QueueName nvarchar(128) COLLATE DATABASE_DEFAULT NOT NULL, Pages bigint NULL, FragmentationPercent float NULL);
    BEGIN TRY
        EXECUTE sys.sp_executesql N'INSERT INTO #pages (QueueName, Pages, FragmentationPercent) SELECT p.QueueName, p.Pages, p.FragmentationPercent FROM [etl].[ufn_QueuePages]() AS p;';
        UPDATE q
        SET Figure = CONCAT(q.Figure, N', ', p.Pages, N' pages, ', CONVERT(int, p.FragmentationPercent), N' % out of order')
        FROM @queues AS q
        INNER JOIN #pages AS p ON p.QueueName = q.QueueName;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        UPDATE @queues SET Figure = LEFT(CONCAT(Figure, N', pages not seen: ', ERROR_MESSAGE()), 200);
    END CATCH;

    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL)
    BEGIN
        SELECT TOP (1) @name = q.QueueName FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL ORDER BY q.QueueName;
        BEGIN TRY
            IF @name = N'InitiatorQueue'
            BEGIN
                /* As text: tools that read T-SQL, Microsoft's own parser among them, do not know these two. */
                IF @rebuild = 1
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [etl].[InitiatorQueue] REBUILD;';
                ELSE
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [etl].[InitiatorQueue] REORGANIZE;';
            END;
            IF @name = N'TargetQueue'
            BEGIN
                /* As text: tools that read T-SQL, Microsoft's own parser among them, do not know these two. */
                IF @rebuild = 1
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [etl].[TargetQueue] REBUILD;';
                ELSE
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [etl].[TargetQueue] REORGANIZE;';
            END;
            UPDATE @queues SET Outcome = N'done' WHERE QueueName = @name;
            INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason) VALUES (N'reorganize queue', @name, @reason);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @Debug = 1
                PRINT CONCAT(@name, N': ', ERROR_MESSAGE());
            IF ERROR_NUMBER() <> 1222 OR SYSUTCDATETIME() >= @deadline
                UPDATE @queues
                SET Outcome = LEFT(CASE WHEN ERROR_NUMBER() = 1222 THEN N'not done: readers or senders were at work on it all the time; call again'
                                        ELSE CONCAT(N'failed: ', ERROR_MESSAGE()) END, 400)
                WHERE QueueName = @name;
            ELSE
                WAITFOR DELAY '00:00:00.500';
        END CATCH;
    END;

    SELECT q.QueueName, q.Figure, ISNULL(q.Outcome, CASE WHEN q.IsDue = 0 THEN N'nothing to do' ELSE N'would be done' END) AS Outcome
    FROM @queues AS q
    ORDER BY q.QueueName;

    RETURN CASE WHEN EXISTS (SELECT 1 FROM @queues AS q WHERE q.Outcome <> N'done') THEN 1 ELSE 0 END;
END;
GO
