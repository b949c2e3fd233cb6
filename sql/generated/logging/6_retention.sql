/* Redial 0.1.0, configuration logging: 6_retention.sql, the purges. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'6_retention.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'e871dd1bc17d303f [5-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'5_operate.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 6_retention.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* How far each reader of Landing has got: rows below the least of these marks may be purged. UpTo is
   a mark as readers take it (rows with RowVersion < UpTo are done with), not the last row read. Reader
   usp_PurgeLanding is the purge itself: rows below its mark may be gone, which a reader compares. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[LandingAcknowledged]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[LandingAcknowledged]
    (
        Reader nvarchar(128) NOT NULL,
        UpTo binary(8) NOT NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_LandingAcknowledged_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_LandingAcknowledged] PRIMARY KEY CLUSTERED (Reader)
    );
    EXECUTE [logging].[usp_Mark] N'TABLE', N'LandingAcknowledged';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_AcknowledgeLanding]
    @reader nvarchar(128) = NULL,       /* any name that stays the same, one for each who reads */
    @upTo binary(8) = NULL,             /* its mark: it needs no row with RowVersion < @upTo again */
    @forget bit = 0,                    /* 1: this reader is gone, do not wait for it any more */
    @Help bit = 0
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* A reader of Landing says how far it has got, so that usp_PurgeLanding removes nothing it still
   needs. May go back as well. RowVersion tells which rows are new and nothing of their order within a
   batch: a reader orders by ConversationId and MessageSequence (F-365). Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_AcknowledgeLanding: a reader of Landing says how far it has got; usp_PurgeLanding removes only what every reader has acknowledged.
  @reader    name of the reader, 1 to 128 characters
  @upTo      mark: rows with RowVersion < @upTo are not needed again; at most MIN_ACTIVE_ROWVERSION()
  @forget    1: forget this reader, @upTo is not used
LandingAcknowledged has the readers, and in row usp_PurgeLanding the mark below which rows may be gone.
RowVersion says which rows are new, not their order: order a conversation by MessageSequence (F-365).
Take the mark before you read, read rows below it, then acknowledge it:
  DECLARE @mark binary(8) = MIN_ACTIVE_ROWVERSION();
  SELECT ... FROM ' + N'[logging].[Landing] WHERE RowVersion >= @from AND RowVersion < @mark ORDER BY ConversationId, MessageSequence;' + N'
  EXECUTE ' + N'[logging].[usp_AcknowledgeLanding] @reader = N''lake'', @upTo = @mark;';
        RETURN 0;
    END;

    IF ISNULL(@reader, N'') = N''
        SET @errors = @errors + N'@reader must be a name of 1 to 128 characters. ';
    IF @reader = N'usp_PurgeLanding'
        SET @errors = @errors + N'@reader must not be usp_PurgeLanding: its row says what was purged. ';
    IF @forget IS NULL
        SET @errors = @errors + N'@forget must be 0 or 1. ';
    IF @forget = 0 AND @upTo IS NULL
        SET @errors = @errors + N'@upTo must be a mark of Landing.RowVersion; allowed: binary(8), not NULL. ';
    /* Rows below such a mark may not have been committed yet, so nobody can have read them. */
    IF @forget = 0 AND @upTo > MIN_ACTIVE_ROWVERSION()
        SET @errors = @errors + N'@upTo must be at most MIN_ACTIVE_ROWVERSION(): take the mark from it. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50183, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Remember it                                                                              */
    /* ----------------------------------------------------------------------------------------- */
    IF @forget = 1
    BEGIN
        DELETE FROM [logging].[LandingAcknowledged] WHERE Reader = @reader;
        RETURN 0;
    END;

    /* One statement looks and inserts. UPDLOCK, HOLDLOCK: the place of a name that is not there is kept
       until the row is in it, so two first calls of one reader do not both insert (2627). */
    INSERT INTO [logging].[LandingAcknowledged] (Reader, UpTo)
    SELECT @reader, @upTo
    WHERE NOT EXISTS (SELECT 1
                      FROM [logging].[LandingAcknowledged] AS la
                          WITH (UPDLOCK, HOLDLOCK, ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)
                      WHERE la.Reader = @reader);
    IF @@ROWCOUNT = 0
        UPDATE la
        SET UpTo = @upTo, ChangedUtc = SYSUTCDATETIME()
        FROM [logging].[LandingAcknowledged] AS la
            WITH (ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)     /* this reader's row */
        WHERE la.Reader = @reader;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_PurgeDeadLetter]
    @deadLetterId bigint = NULL,        /* this one, replayed or not; else by age or filter: */
    @olderThanDays int = NULL,          /* those of at least this many days; NULL, without a filter: 30 */
    @includeUnhandled bit = 0,          /* 1: also those nobody has handled: they are then lost */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show how many would be removed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0,                     /* 1: print each batch */
    @code int = NULL,                   /* this and the rest: of these only; 0: those without a code */
    @messageType nvarchar(256) = NULL,  /* N'': those without a type */
    @reasonLike nvarchar(3000) = NULL,  /* a pattern, as LIKE has it; N'': those without a reason */
    @key nvarchar(200) = NULL,          /* of the message; none of this configuration carries one */
    @conversation uniqueidentifier = NULL,  /* its id or its handle, from vw_DeadLetters */
    @fromUtc datetime2(3) = NULL,       /* dead letters from then on, */
    @toUtc datetime2(3) = NULL          /* before then */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Removes dead letters for good, 1,000 per transaction, each with its own entry in OperatorLog: who,
   how many, which, why. Result set, one row: DeadLetters bigint, FirstId bigint, LastId bigint,
   Outcome nvarchar(200), with a filter also what is in use and what stays. Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @filtered bit = CASE WHEN @code IS NULL AND @messageType IS NULL AND @reasonLike IS NULL AND @key IS NULL
        AND @conversation IS NULL AND @fromUtc IS NULL AND @toUtc IS NULL THEN 0 ELSE 1 END;
    DECLARE @removed TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @letters TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @batch int = 1, @inUse bigint, @unhandled bigint;
    /* A range of one, or all of them: no OR, which would read the table for one letter. */
    DECLARE @behind bigint = ISNULL(@deadLetterId - 1, -1);     /* letters up to here have been looked at */
    DECLARE @last bigint = ISNULL(@deadLetterId, 9223372036854775807);
    DECLARE @count bigint = 0;
    DECLARE @firstId bigint, @lastId bigint;
    DECLARE @before datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeDeadLetter removes dead letters of configuration logging for good.
  @deadLetterId      this one, replayed or not; see [logging].[vw_DeadLetters]
  @olderThanDays     or: those of at least this many days
  @includeUnhandled  1: by age or filter also those nobody has handled (their messages are then lost)
  @reason            why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf            1 (default): only show; 0: do it
  @Debug             1: print each batch
Filter, for more than numbers; all that is given must hold ([logging].[vw_DeadLetterCauses] has each cause''s):
  @code, @messageType  as they are; 0 and N'''': letters that have none
  @reasonLike          a pattern, as LIKE has it; N'''': letters without a reason
  @key, @conversation  (no message here carries its key); its dialog, by id or handle
  @fromUtc, @toUtc     when they became dead letters: from then on, before then
Example: EXECUTE [logging].[usp_PurgeDeadLetter] @olderThanDays = 90, @reason = N''retention'', @WhatIf = 0;
         EXECUTE [logging].[usp_PurgeDeadLetter] @code = 547, @includeUnhandled = 1, @reason = N''not wanted'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50176, N'usp_PurgeDeadLetter must be called outside a transaction: it commits every 1,000 letters.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @deadLetterId IS NULL AND @filtered = 0
        SET @olderThanDays = ISNULL(@olderThanDays, 30);
    IF (@deadLetterId IS NULL AND @olderThanDays IS NULL AND @filtered = 0) OR (@deadLetterId IS NOT NULL AND @olderThanDays IS NOT NULL)
        SET @errors = @errors + N'One of @deadLetterId and @olderThanDays must be given, or one of @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc. ';
    IF @olderThanDays NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500. ';
    IF @fromUtc >= @toUtc
        SET @errors = @errors + N'@fromUtc must be before @toUtc. ';
    IF @key IS NOT NULL
        SET @errors = @errors + N'@key must be NULL: no message of this configuration carries its key. ';
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
        FROM [logging].[DeadLetter] AS dl
            /* READPAST: one that is just being written or replayed is somebody's; nobody waits. */
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        WHERE dl.DeadLetterId > @behind
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (@code IS NULL OR ISNULL(dl.Code, 0) = @code)
          AND (@messageType IS NULL OR ISNULL(dl.MessageType, N'') = @messageType)
          AND (@reasonLike IS NULL OR ISNULL(dl.Reason, N'') LIKE @reasonLike)
          AND (@conversation IS NULL OR dl.ConversationId = @conversation OR dl.ConversationHandle = @conversation)
          AND (@fromUtc IS NULL OR dl.AddedUtc >= @fromUtc)
          AND (@toUtc IS NULL OR dl.AddedUtc < @toUtc)
          AND (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL)
        ORDER BY dl.DeadLetterId;
        SELECT @batch = COUNT(*), @behind = MAX(l.DeadLetterId) FROM @letters AS l;

        BEGIN TRANSACTION;

        DELETE dl
        OUTPUT DELETED.DeadLetterId
        INTO @removed (DeadLetterId)
        FROM [logging].[DeadLetter] AS dl
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

            INSERT INTO [logging].[OperatorLog] (Action, Detail, Reason)
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
        FROM [logging].[DeadLetter] AS dl
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)  /* as above */
        WHERE dl.DeadLetterId > @behind
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (@code IS NULL OR ISNULL(dl.Code, 0) = @code)
          AND (@messageType IS NULL OR ISNULL(dl.MessageType, N'') = @messageType)
          AND (@reasonLike IS NULL OR ISNULL(dl.Reason, N'') LIKE @reasonLike)
          AND (@conversation IS NULL OR dl.ConversationId = @conversation OR dl.ConversationHandle = @conversation)
          AND (@fromUtc IS NULL OR dl.AddedUtc >= @fromUtc)
          AND (@toUtc IS NULL OR dl.AddedUtc < @toUtc)
          AND (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL);
    END;

    /* As they are this moment: NOLOCK. What has not gone by now is somebody's. */
    IF @filtered = 1
        SELECT @unhandled = SUM(CASE WHEN dl.HandledUtc IS NULL THEN 1 ELSE 0 END),
            @inUse = SUM(CASE WHEN (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL) THEN 1 ELSE 0 END)
                - CASE WHEN @WhatIf = 1 THEN @count ELSE 0 END
        FROM [logging].[vw_DeadLetters] AS dl
        WHERE dl.DeadLetterId > ISNULL(@deadLetterId - 1, -1)
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (@code IS NULL OR ISNULL(dl.Code, 0) = @code)
          AND (@messageType IS NULL OR ISNULL(dl.MessageType, N'') = @messageType)
          AND (@reasonLike IS NULL OR ISNULL(dl.Reason, N'') LIKE @reasonLike)
          AND (@conversation IS NULL OR dl.ConversationId = @conversation OR dl.ConversationHandle = @conversation)
          AND (@fromUtc IS NULL OR dl.AddedUtc >= @fromUtc)
          AND (@toUtc IS NULL OR dl.AddedUtc < @toUtc);

    SELECT @count AS DeadLetters, @firstId AS FirstId, @lastId AS LastId,
        CONCAT(CASE WHEN @WhatIf = 1 THEN N'would be removed' ELSE N'removed' END,
            CASE WHEN @unhandled > 0 AND @includeUnhandled = 0 AND @deadLetterId IS NULL THEN CONCAT(N'; ', @unhandled, N' unhandled stay: @includeUnhandled = 0')
                 WHEN @unhandled > 0 AND @WhatIf = 1 THEN CONCAT(N'; ', @unhandled, N' are unhandled, and then lost') END,
            CASE WHEN @inUse > 0 THEN CONCAT(N'; ', @inUse, N' are in use now: call again') END) AS Outcome;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_PurgeLanding]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: retention.landing_days = 30 */
    @upTo binary(8) = NULL,             /* NULL: what every reader has acknowledged */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
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
  @olderThanDays  age in days, 0 to 36500; default: retention.landing_days = 30
  @upTo           only rows with RowVersion < @upTo; default: what every reader has acknowledged.
                  With readers it can only lower that mark; without any it must be given.
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [logging].[usp_PurgeLanding] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeLanding must be called outside a transaction: it deletes in small ones.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 30);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500. ';
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
    FROM [logging].[LandingAcknowledged] AS la
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
        FROM [logging].[Landing] AS l
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
                FROM [logging].[LandingAcknowledged] AS la
                    WITH (ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)     /* this one row */
                WHERE la.Reader = N'usp_PurgeLanding';
                IF @@ROWCOUNT = 0
                    INSERT INTO [logging].[LandingAcknowledged] (Reader, UpTo) VALUES (N'usp_PurgeLanding', @gone);
                IF EXISTS (SELECT 1 FROM [logging].[LandingAcknowledged] AS la
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
            FROM [logging].[Landing] AS l
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
        INSERT INTO [logging].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'usp_PurgeLanding', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @below AS Below, @rows AS Affected;

    RETURN 0;
END;
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
CREATE OR ALTER PROCEDURE [logging].[usp_PurgePoison]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: retention.log_days = 30 */
    @batch int = 1000,                  /* rows of one transaction */
    @reason nvarchar(400) = N'retention',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
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
  @olderThanDays  age in days, 0 to 36500; default: retention.log_days = 30
  @batch          rows of one transaction, 1 to 4900; default 1000
  @reason         why; ''retention'' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [logging].[usp_PurgePoison] @olderThanDays = 90, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgePoison must be called outside a transaction: it deletes in small ones.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 30);
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
        FROM [logging].[PoisonAttempt] AS pa
            WITH (READPAST, READCOMMITTEDLOCK)      /* a row a receiver is using is of a live conversation */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE TOP (@batch) pa
        FROM [logging].[PoisonAttempt] AS pa
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
        INSERT INTO [logging].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'usp_PurgePoison', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'e871dd1bc17d303f 6', @level0type = N'SCHEMA', @level0name = N'logging';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
