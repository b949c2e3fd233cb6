SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_PurgePoison]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: retention.log_days = 90 */
    @batch int = 1000,                  /* rows of one transaction */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Forgets failed attempts (PoisonAttempt) of conversations that are gone: one that ends in order takes its own along.
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
        PRINT N'usp_PurgePoison: Forgets failed attempts (PoisonAttempt) of conversations that are gone: one that ends in order takes its own along.
  @olderThanDays  age in days, 0 to 36500; default: retention.log_days = 90
  @batch          rows of one transaction, 1 to 4900; default 1000
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [audit].[usp_PurgePoison] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgePoison must be called outside a transaction: it deletes in small ones.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 90);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500. ';
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
        THROW 50184, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    IF @WhatIf = 1
        SELECT @rows = COUNT_BIG(*)
        FROM [audit].[PoisonAttempt] AS pa
            WITH (READPAST, READCOMMITTEDLOCK)      /* a row a receiver is using is of a live conversation */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE TOP (@batch) pa
        FROM [audit].[PoisonAttempt] AS pa
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)   /* as above; XLOCK: at once, or passed over */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

        SET @found = @@ROWCOUNT;
        SET @rows = @rows + @found;
        IF @Debug = 1
            PRINT CONCAT(@found, N' rows deleted, ', @rows, N' in all');
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'usp_PurgePoison', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
