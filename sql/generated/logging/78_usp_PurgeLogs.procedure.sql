SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_PurgeLogs]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: 30 */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show how many would be removed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each batch */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Removes old rows of ConversationLog (dialogs that have ended or are gone) and ErrorLog, and what operators did more than 400 days ago, 1,000 per transaction.
   Result set, one row a table: TableName nvarchar(128), LogRows bigint, Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @days int = ISNULL(@olderThanDays, 30);
    DECLARE @before datetime2(3);
    DECLARE @batch int = 1;
    DECLARE @from uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @to uniqueidentifier;
    DECLARE @oldConversationLog TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY);
    DECLARE @oldErrorLog TABLE (ErrorLogId bigint NOT NULL PRIMARY KEY);
    DECLARE @oldOperatorLog TABLE (OperatorLogId bigint NOT NULL PRIMARY KEY);
    DECLARE @conversations bigint = 0;
    DECLARE @errorRows bigint = 0;
    DECLARE @operatorRows bigint = 0;
    DECLARE @longAgo datetime2(3);      /* of what operators did more than a year is kept */

    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeLogs removes old rows of ConversationLog (ended dialogs only), ErrorLog, and OperatorLog (there
of more than 400 days at least).
  @olderThanDays  0 to 36500 days; 30 by default
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show; 0: do it
  @Debug          1: print each batch
Example: EXECUTE [logging].[usp_PurgeLogs] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50188, N'usp_PurgeLogs must be called outside a transaction: it commits every 1,000 rows.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @WhatIf IS NULL OR ISNULL(@days, -1) NOT BETWEEN 0 AND 36500 OR (@WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL)
        THROW 50187, N'@olderThanDays must be 0 to 36500 (NULL only where [retention].log_days is above 0). @WhatIf must be 0 or 1. @reason must say why.', 1;

    SET @before = DATEADD(day, -@days, SYSUTCDATETIME());
    SET @longAgo = DATEADD(day, -CASE WHEN @days > 400 THEN @days ELSE 400 END, SYSUTCDATETIME());

    IF @WhatIf = 1
    BEGIN
        SELECT @conversations = COUNT_BIG(*)
        FROM [logging].[ConversationLog] AS cl WITH (NOLOCK)   /* a figure to look at; waits for nobody */
        WHERE (cl.EndedUtc < @before
               OR (cl.EndedUtc IS NULL AND cl.BegunUtc < @before      /* ended by hand, or still open */
                   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = cl.Handle)));
        SELECT @errorRows = COUNT_BIG(*) FROM [logging].[ErrorLog] AS el WITH (NOLOCK) WHERE el.AddedUtc < @before;
        SELECT @operatorRows = COUNT_BIG(*) FROM [logging].[OperatorLog] AS ol WITH (NOLOCK) WHERE ol.AddedUtc < @longAgo;
    END;

    /* Slice after slice of the clustered key, each row once: nothing is ordered by EndedUtc. What is old is
       looked up holding nothing, looked at again under its lock, and deleted by its key: the rows that stay
       are not locked. Here and below:
       XLOCK, READPAST: a row somebody writes, or reads under REPEATABLE READ, is passed over. U, the lock
       of a DELETE, is got beside such a reader and then waits for X: the purge would be in circles (F-127). */
    WHILE @WhatIf = 0 AND @from IS NOT NULL
    BEGIN
        SET @to = NULL;                 /* stays NULL behind the last full slice */
        SELECT @to = cl.Handle
        FROM [logging].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([PK_ConversationLog]))     /* only a border */
        WHERE cl.Handle > @from
        ORDER BY cl.Handle
        OFFSET 999 ROWS FETCH NEXT 1 ROWS ONLY;

        DELETE FROM @oldConversationLog;
        INSERT INTO @oldConversationLog (Handle)
        SELECT cl.Handle
        FROM [logging].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([PK_ConversationLog]))     /* only where to look */
        WHERE cl.Handle > @from
          AND cl.Handle <= ISNULL(@to, 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF')
          AND (cl.EndedUtc < @before
               OR (cl.EndedUtc IS NULL AND cl.BegunUtc < @before      /* ended by hand, or still open */
                   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = cl.Handle)));

        DELETE cl
        FROM [logging].[ConversationLog] AS cl
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)
        INNER JOIN @oldConversationLog AS h ON h.Handle = cl.Handle
        WHERE (cl.EndedUtc < @before
               OR (cl.EndedUtc IS NULL AND cl.BegunUtc < @before      /* ended by hand, or still open */
                   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = cl.Handle)));
        SET @batch = @@ROWCOUNT;
        SET @conversations = @conversations + @batch;
        SET @from = @to;
        IF @Debug = 1
            PRINT CONCAT(N'ConversationLog: ', @batch, N' rows');
    END;

    SET @batch = 1;
    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        DELETE FROM @oldErrorLog;
        INSERT INTO @oldErrorLog (ErrorLogId)
        SELECT TOP (1000) el.ErrorLogId
        FROM [logging].[ErrorLog] AS el WITH (NOLOCK)      /* only where to look; a date never changes */
        WHERE el.AddedUtc < @before
        ORDER BY el.ErrorLogId;

        DELETE el
        FROM [logging].[ErrorLog] AS el WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)   /* as above */
        INNER JOIN @oldErrorLog AS k ON k.ErrorLogId = el.ErrorLogId;
        SET @batch = @@ROWCOUNT;
        SET @errorRows = @errorRows + @batch;
        IF @Debug = 1
            PRINT CONCAT(N'ErrorLog: ', @batch, N' rows');
    END;

    SET @batch = 1;
    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        DELETE FROM @oldOperatorLog;
        INSERT INTO @oldOperatorLog (OperatorLogId)
        SELECT TOP (1000) ol.OperatorLogId
        FROM [logging].[OperatorLog] AS ol WITH (NOLOCK)      /* only where to look; a date never changes */
        WHERE ol.AddedUtc < @longAgo
        ORDER BY ol.OperatorLogId;

        DELETE ol
        FROM [logging].[OperatorLog] AS ol WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)   /* as above */
        INNER JOIN @oldOperatorLog AS k ON k.OperatorLogId = ol.OperatorLogId;
        SET @batch = @@ROWCOUNT;
        SET @operatorRows = @operatorRows + @batch;
        IF @Debug = 1
            PRINT CONCAT(N'OperatorLog: ', @batch, N' rows');
    END;

    IF @WhatIf = 0 AND @conversations + @errorRows + @operatorRows > 0
    BEGIN
        INSERT INTO [logging].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'purge logs', CONCAT(@conversations, N' conversations, ', @errorRows, N' errors, ', @operatorRows, N' actions older than ', @days, N' days'), @reason);
    END;

    SELECT t.TableName, t.LogRows, CASE WHEN @WhatIf = 1 THEN N'would be removed' ELSE N'removed' END AS Outcome
    FROM (VALUES (N'ConversationLog', @conversations), (N'ErrorLog', @errorRows), (N'OperatorLog', @operatorRows)) AS t(TableName, LogRows);

    RETURN 0;
END;
GO
