SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_PurgeDeadLetter]
    @deadLetterId bigint = NULL,        /* this one, replayed or not; else by age: */
    @olderThanDays int = NULL,          /* those of at least this many days */
    @includeUnhandled bit = 0,          /* 1: by age also those nobody has replayed: they are then lost */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show how many would be removed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each batch */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Removes dead letters for good, 1,000 per transaction, each with its own entry in OperatorLog: who,
   how many, which, why. Result set, one row: DeadLetters bigint, FirstId bigint, LastId bigint,
   Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @removed TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @letters TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @batch int = 1;
    /* A range of one, or all of them: no OR, which would read the table for one letter. */
    DECLARE @behind bigint = ISNULL(@deadLetterId - 1, -1);     /* letters up to here have been looked at */
    DECLARE @last bigint = ISNULL(@deadLetterId, 9223372036854775807);
    DECLARE @count bigint = 0;
    DECLARE @firstId bigint = NULL;
    DECLARE @lastId bigint = NULL;
    DECLARE @before datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeDeadLetter removes dead letters of configuration audit for good.
  @deadLetterId      this one, replayed or not; see [audit].[vw_DeadLetters]
  @olderThanDays     or: those of at least this many days
  @includeUnhandled  1: by age also those nobody has replayed (their messages are then lost)
  @reason            why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf            1 (default): only show; 0: do it
  @Debug             1: print each batch
Example: EXECUTE [audit].[usp_PurgeDeadLetter] @olderThanDays = 90, @reason = N''retention'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50176, N'usp_PurgeDeadLetter must be called outside a transaction: it commits every 1,000 letters.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF (@deadLetterId IS NULL AND @olderThanDays IS NULL) OR (@deadLetterId IS NOT NULL AND @olderThanDays IS NOT NULL)
        SET @errors = @errors + N'One of @deadLetterId and @olderThanDays must be given. ';
    IF @olderThanDays NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50175, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        /* Looked up holding nothing. On from the last one, each letter is read once: those that stay are not
           read for every batch anew. */
        DELETE FROM @removed;
        DELETE FROM @letters;
        INSERT INTO @letters (DeadLetterId)
        SELECT TOP (1000) dl.DeadLetterId
        FROM [audit].[DeadLetter] AS dl
            /* READPAST: one that is just being written or replayed is somebody's; nobody waits. */
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        WHERE dl.DeadLetterId > @behind
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL)
        ORDER BY dl.DeadLetterId;
        SELECT @batch = COUNT(*), @behind = MAX(l.DeadLetterId) FROM @letters AS l;

        BEGIN TRANSACTION;

        DELETE dl
        OUTPUT DELETED.DeadLetterId
        INTO @removed (DeadLetterId)
        FROM [audit].[DeadLetter] AS dl
            /* XLOCK: U is got beside a reader under REPEATABLE READ, and then waits for X. */
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        INNER JOIN @letters AS l ON l.DeadLetterId = dl.DeadLetterId
        WHERE dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL;

        IF EXISTS (SELECT 1 FROM @removed)
        BEGIN
            SELECT @count = @count + COUNT_BIG(*),
                @firstId = CASE WHEN @firstId < MIN(r.DeadLetterId) THEN @firstId ELSE MIN(r.DeadLetterId) END,
                @lastId = CASE WHEN @lastId > MAX(r.DeadLetterId) THEN @lastId ELSE MAX(r.DeadLetterId) END
            FROM @removed AS r;

            INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
            SELECT N'purge dead letters',
                CONCAT(COUNT_BIG(*), N' from ', MIN(r.DeadLetterId), N' to ', MAX(r.DeadLetterId),
                    CASE WHEN @includeUnhandled = 1 THEN N', unhandled ones too' ELSE N'' END), @reason
            FROM @removed AS r;
        END;

        COMMIT TRANSACTION;

        IF @Debug = 1
            PRINT CONCAT(N'Looked at: ', @batch, N', removed so far: ', @count);
    END;

    IF @WhatIf = 1
    BEGIN
        SELECT @count = COUNT_BIG(*), @firstId = MIN(dl.DeadLetterId), @lastId = MAX(dl.DeadLetterId)
        FROM [audit].[DeadLetter] AS dl
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)  /* as above */
        WHERE dl.DeadLetterId > @behind
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL);
    END;

    SELECT @count AS DeadLetters, @firstId AS FirstId, @lastId AS LastId,
        CASE WHEN @WhatIf = 1 THEN N'would be removed' ELSE N'removed' END AS Outcome;

    RETURN 0;
END;
GO
