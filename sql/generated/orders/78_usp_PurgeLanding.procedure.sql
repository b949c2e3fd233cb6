SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_PurgeLanding]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: none, retention.landing_days is 0 (for ever) */
    @upTo binary(8) = NULL,             /* NULL: what every reader has acknowledged */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Removes landed rows that are old enough and acknowledged by every reader (usp_AcknowledgeLanding).
   Oldest first, a small transaction after the other; waits for nobody (READPAST), so it is in no circle
   of waits. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Below binary(8), Affected bigint. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;

    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeLanding: Removes landed rows that are old enough and acknowledged by every reader (usp_AcknowledgeLanding).
  @olderThanDays  age in days, 0 to 36500; no default here, retention.landing_days is 0 (for ever)
  @upTo           only rows with RowVersion < @upTo; default: what every reader has acknowledged.
                  With readers it can only lower that mark; without any it must be given.
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [orders].[usp_PurgeLanding] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeLanding must be called outside a transaction: it deletes in small ones.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500; it has no default here: retention.landing_days is 0 (for ever). ';
    /* 5,000 locks of one statement on one table make the server try for a lock on all of it (F-166). */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';

    DECLARE @below binary(8);
    DECLARE @active binary(8) = MIN_ACTIVE_ROWVERSION();
    SELECT TOP (1) @below = la.UpTo
    FROM [orders].[LandingAcknowledged] AS la
    WHERE la.Reader <> N'usp_PurgeLanding'      /* its own row, see below */
    ORDER BY la.UpTo;
    IF @below IS NULL OR @upTo < @below
        SET @below = @upTo;
    IF @below IS NULL
        SET @errors = @errors + N'@upTo must be given: no reader has acknowledged anything (usp_AcknowledgeLanding). ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50180, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    DECLARE @from binary(8) = 0x0000000000000000;
    DECLARE @deleted int = 0;
    DECLARE @gone binary(8);
    DECLARE @stop bit = 0;
    DECLARE @keys TABLE (RowVersion binary(8) NOT NULL PRIMARY KEY, LandedUtc datetime2(3) NOT NULL);

    /* What is not committed yet is behind this, and is young. */
    IF @below > @active
        SET @below = @active;
    IF @Debug = 1
        PRINT CONCAT(N'Older than ', CONVERT(nvarchar(30), @before, 126), N', RowVersion below ', CONVERT(nvarchar(20), @below, 1));

    /* From the old end, slice by slice; inserts are at the other. The first slice without an old row ends it:
       one row alone may be dated by a clock that was ahead (and what is dated ahead still says nothing). */
    WHILE @found > 0
    BEGIN
        DELETE FROM @keys;
        INSERT INTO @keys (RowVersion, LandedUtc)
        SELECT TOP (@batch) l.RowVersion, l.LandedUtc
        FROM [orders].[Landing] AS l
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; along the clustered key. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)
        WHERE l.RowVersion > @from AND l.RowVersion < @below
        ORDER BY l.RowVersion;

        SELECT @found = ISNULL(SUM(CASE WHEN k.LandedUtc < @before OR k.LandedUtc > SYSUTCDATETIME() THEN 1 ELSE 0 END), 0),
            @from = ISNULL(MAX(k.RowVersion), @from), @deleted = 0
        FROM @keys AS k;
        SELECT @gone = CONVERT(binary(8), CONVERT(bigint, MAX(k.RowVersion)) + 1) FROM @keys AS k WHERE k.LandedUtc < @before;

        IF @WhatIf = 1
            SELECT @rows = @rows + COUNT_BIG(*) FROM @keys AS k WHERE k.LandedUtc < @before;
        ELSE IF @gone IS NOT NULL
        BEGIN
            /* What goes is told before it goes, beside a look at the readers. A reader that comes writes its
               row first and then reads this one by a lock: so one of the two sees the other. */
            SET LOCK_TIMEOUT 1000;      /* nobody waits long for the purge's row */
            BEGIN TRY
                BEGIN TRANSACTION;
                UPDATE la
                SET UpTo = CASE WHEN la.UpTo < @gone THEN @gone ELSE la.UpTo END, ChangedUtc = SYSUTCDATETIME()
                FROM [orders].[LandingAcknowledged] AS la
                    WITH (ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)     /* this one row */
                WHERE la.Reader = N'usp_PurgeLanding';
                IF @@ROWCOUNT = 0
                    INSERT INTO [orders].[LandingAcknowledged] (Reader, UpTo) VALUES (N'usp_PurgeLanding', @gone);
                IF EXISTS (SELECT 1 FROM [orders].[LandingAcknowledged] AS la
                           WHERE la.UpTo < @gone AND la.Reader <> N'usp_PurgeLanding')
                    SET @stop = 1;      /* came after the mark above was taken, or went back */
                IF @stop = 1
                    ROLLBACK TRANSACTION;
                ELSE
                    COMMIT TRANSACTION;
            END TRY
            BEGIN CATCH
                IF XACT_STATE() <> 0
                    ROLLBACK TRANSACTION;
                IF ERROR_NUMBER() <> 1222
                    THROW;
                SET @stop = 1;          /* a reader is just being written: the next run goes on */
            END CATCH;
            SET LOCK_TIMEOUT -1;
            IF @stop = 1
                BREAK;

            DELETE l
            FROM [orders].[Landing] AS l
                /* XLOCK: U is got beside a reader under REPEATABLE READ, and then waits for X. */
                WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)
            INNER JOIN @keys AS k ON k.RowVersion = l.RowVersion
            WHERE k.LandedUtc < @before;
            SET @deleted = @@ROWCOUNT;
            SET @rows = @rows + @deleted;
        END;
        IF @Debug = 1
            PRINT CONCAT(@deleted, N' rows deleted, ', @rows, N' in all');
    END;
    IF @Debug = 1 AND @stop = 1
        PRINT N'Ended early: a reader has come, or is just being written.';

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'usp_PurgeLanding', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @below AS Below, @rows AS Affected;

    RETURN 0;
END;
GO
