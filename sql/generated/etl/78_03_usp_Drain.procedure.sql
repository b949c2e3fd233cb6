SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_Drain]
    @reason nvarchar(400) = NULL,       /* why: kept in Gate and OperatorLog; required with @WhatIf = 0 */
    @waitSeconds int = 60,              /* 0 to 3600: how long to go on, all in all */
    @WhatIf bit = 1,                    /* 1: only show what is open now */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each pass */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: no new sends, every dialog closed with EndOfStream, both sides ended. A sender gets
   in before the gate closes or gets 50102; nobody sends after EndOfStream, nothing is lost (F-148).
   Result set, one row per outcome: Outcome nvarchar(30), Figure bigint, Detail nvarchar(400).
   Returns 0: drained (or shown), 1: not yet; the gate is as the first row says. Call it again. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 1000;              /* whatever the caller's: what is busy longer is asked again (F-116) */

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @deadline datetime2(3);
    DECLARE @closed bit = 0;
    DECLARE @passes int = 0;
    DECLARE @left bigint = 0;           /* dialogs senders could still use; NULL: one is busy */
    DECLARE @recycled bigint = 0;
    DECLARE @isOpen bit;                /* an endpoint has not ended; NULL: could not be seen */
    DECLARE @open bigint = 0;
    DECLARE @pending bigint;
    DECLARE @copies bigint = 0;         /* messages that have not landed */
    DECLARE @largest bigint = 0;        /* at most so many copies has a dialog that is gone */
    DECLARE @largestOf uniqueidentifier = '00000000-0000-0000-0000-000000000000', @firstCopy bigint;
    DECLARE @pauseMs int = 125;
    DECLARE @pause varchar(16);
    DECLARE @dialogs TABLE (DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Handle uniqueidentifier NOT NULL);
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @more bit;
    DECLARE @result int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help and inputs                                                                          */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_Drain closes the gate (usp_Send then refuses with 50102), closes every dialog of
configuration etl and waits until both sides of each have ended. Open the gate with usp_OpenGate.
  @reason       why; required with @WhatIf = 0; kept with your login in Gate and OperatorLog
  @waitSeconds  0 to 3600, 60 by default: how long to go on, all in all
  @WhatIf       1 (default): only show what is open now; 0: do it
  @Debug        1: print each pass
Example: EXECUTE [etl].[usp_Drain] @reason = N''server moves tonight'', @waitSeconds = 300, @WhatIf = 0;
Not drained in time: a sender is in a long transaction, or the target does not read. See usp_Health.';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50161, N'usp_Drain must be called outside a transaction: each step commits.', 1;
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N'@waitSeconds must be 0 to 3600. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50160, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    /* ----------------------------------------------------------------------------------------- */
    /* 2  The gate, committed before anything is looked at                                         */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
        EXECUTE [etl].[usp_CloseGate] @reason = @reason, @deadline = @deadline, @closed = @closed OUTPUT;

    IF @Debug = 1
        PRINT CONCAT(N'Gate closed: ', @closed);

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Passes over every R, until one finds none and nobody at work on one                      */
    /* ----------------------------------------------------------------------------------------- */
    SET @more = @closed;
    WHILE @more = 1
    BEGIN
        SET @passes = @passes + 1;

        /* A list of whom to visit, no decision: NOLOCK waits for nobody, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration's rows only. No cursor: each visit commits,
           and CURSOR_CLOSE_ON_COMMIT may be on (F-372). */
        DELETE FROM @dialogs;
        INSERT INTO @dialogs (Handle)
        SELECT sc.Handle
        FROM [etl].[SessionConversations] AS sc
            WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.BegunUtc IS NOT NULL;

        WHILE EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.DialogId > @id)
        BEGIN
            SELECT TOP (1) @id = d.DialogId, @handle = d.Handle FROM @dialogs AS d WHERE d.DialogId > @id ORDER BY d.DialogId;

            /* NOWAIT inside: a busy row is left to the next pass. */
            EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;
            IF @result = 0
                SET @recycled = @recycled + 1;
        END;

        /* The look that decides, with locks: a sender that read the gate open has inserted or locked
           its row before, and is met here. READPAST would miss it, NOLOCK would count what rolls back.
           UPDLOCK: the lock of a sender that has only looked its row up is a U lock, which a plain
           read passes; a slot it is about to use still reads as unused. NOWAIT: error 1222 instead of a wait. All rows, no filter that
           could be tried before the lock is. Searched by tests/proof/test_drain.py. */
        SET @left = NULL;
        BEGIN TRY
            SELECT @left = ISNULL(SUM(CASE WHEN sc.BegunUtc IS NULL THEN 0 ELSE 1 END), 0)
            FROM [etl].[SessionConversations] AS sc
                WITH (UPDLOCK, ROWLOCK, NOWAIT, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as said above */
            WHERE sc.ConfigId = 1;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
        END CATCH;

        IF @Debug = 1
            PRINT CONCAT(N'Pass ', @passes, N': dialogs closed so far ', @recycled, N', left ', ISNULL(CONVERT(nvarchar(20), @left), N'unknown, one is busy'));

        SET @more = CASE WHEN @left = 0 OR SYSUTCDATETIME() >= @deadline THEN 0 ELSE 1 END;
        IF @more = 1
            WAITFOR DELAY '00:00:00.100';
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  Wait for both sides. CLOSED rows are only the target's memory of replays (F-106)          */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SET @isOpen = NULL;
        BEGIN TRY
            /* The copies first: a resend that is just moving them is waited for, and its new dialog seen. */
            IF @closed = 1
                SELECT @copies = COUNT(*) FROM (SELECT TOP (10000) sm.MessageSequence FROM [etl].[SentMessage] AS sm) AS x;
            SET @isOpen = 0;
            IF EXISTS (SELECT 1
                       FROM sys.conversation_endpoints AS ce
                       INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                       WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')
                         AND ce.state <> 'CD')
                SET @isOpen = 1;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222   /* a reader may hold its endpoint (F-126): asked again */
                THROW;
            SET @isOpen = NULL;
        END CATCH;

        IF @WhatIf = 1 OR @closed = 0
            BREAK;

        /* What was left by dialogs that somebody ended by hand goes out again, on dialogs that end. */
        IF @copies > 0
            EXECUTE [etl].[usp_ResendStranded] @olderThanSeconds = 0;

        IF (@isOpen = 0 AND @copies = 0) OR SYSUTCDATETIME() >= @deadline
            BREAK;

        /* 0.25 s at first, then twice as long each time up to 4 s: the view has a row for each
           endpoint of the database, and the broker needs it more than we do. */
        SET @pauseMs = CASE WHEN @pauseMs < 4000 THEN @pauseMs * 2 ELSE 4000 END;
        IF @pauseMs > DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline)
            SET @pauseMs = DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline) + 1;
        SET @pause = CONVERT(varchar(12), DATEADD(millisecond, CASE WHEN @pauseMs < 1 THEN 1 ELSE @pauseMs END, CONVERT(time(3), '00:00:00')), 121);
        WAITFOR DELAY @pause;
    END;

    IF ISNULL(@isOpen, 1) = 1
    BEGIN
        SELECT @open = CASE WHEN COUNT_BIG(*) = 0 THEN 1 ELSE COUNT_BIG(*) END   /* it was there a moment ago */
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* a figure, no decision */
        INNER JOIN sys.services AS s ON s.service_id = ce.service_id
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')
          AND ce.state <> 'CD';
    END;

    SELECT @pending = COUNT_BIG(*) FROM [etl].[ufn_Pending]();

    WHILE @copies > 0
    BEGIN
        SET @firstCopy = NULL;
        SELECT TOP (1) @largestOf = sm.ConversationId, @firstCopy = sm.MessageSequence
        FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId > @largestOf
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @firstCopy IS NULL
            BREAK;
        SELECT @largest = MAX(sm.MessageSequence) - @firstCopy + 1      /* numbers step by 1 (F-452) */
        FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId = @largestOf
          AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                          WHERE ce.conversation_id = @largestOf AND ce.is_initiator = 1 AND ce.state IN ('SO', 'CO'))
        HAVING MAX(sm.MessageSequence) - @firstCopy >= @largest;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 5  One row per outcome                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT o.Outcome, o.Figure, o.Detail
    FROM
    (
        SELECT 1 AS Place,
            CASE WHEN @WhatIf = 1 THEN N'would be closed' WHEN @closed = 1 THEN N'gate closed' ELSE N'gate still open' END AS Outcome,
            @passes AS Figure,
            CASE WHEN @WhatIf = 1 THEN N'nothing was done: @WhatIf = 1'
                 WHEN @closed = 0 THEN N'senders were at work all the time; call again, or with a longer @waitSeconds'
                 ELSE N'passes over the dialogs' END AS Detail
        UNION ALL
        SELECT 2, N'dialogs closed', @recycled, N'EndOfStream was sent on them now, or they were dead'
        UNION ALL
        SELECT 3, N'dialogs in use', ISNULL(@left, 1), N'a sender is at work: it commits or rolls back first'
        WHERE @left <> 0 OR @left IS NULL
        UNION ALL
        SELECT 4, N'endpoints open', @open, N'both sides, CLOSED ones left out; 0: everything was received'
        UNION ALL
        SELECT 5, N'messages pending', @pending, N'not in their queue yet: see vw_Pending'
        WHERE @pending > 0
        UNION ALL
        SELECT 6, N'messages not landed', @copies, CONCAT(N'10000: or more; see vw_Unlanded',
                CASE WHEN @largest = 0 THEN N'; their dialogs are open still'
                     WHEN @largest <= 100000 THEN N'; their dialogs are gone: see vw_Errors, then EXECUTE usp_ResendStranded @olderThanSeconds = 0'
                     ELSE CONCAT(N'; their dialogs are gone, and one is too large for this: with room in the log for about three times its bytes EXECUTE usp_ResendStranded @olderThanSeconds = 0, @most = ', @largest) END)
        WHERE @copies > 0
    ) AS o
    ORDER BY o.Place;

    IF @WhatIf = 1 OR (@closed = 1 AND @left = 0 AND @open = 0 AND @copies = 0)
        RETURN 0;
    RETURN 1;
END;
GO
