-- L2 InitiatorQueue switched off, played by 2 query windows
-- Played on the embedded broker by 2 sessions: meets 'L2 InitiatorQueue switched off'.
-- Scenario: spid timer lock_timeout updlock rc autocommit, one sender with a dialog, its timer
-- fires at any moment
-- Found on the embedded broker, which is not SQL Server. To replay it there: --replay
-- 51.timer:0.21x25@24d81878
--
-- FOR A TEST DATABASE. Procedures are altered while this is played, and put back by CLEAN-UP.
-- 1. Run installation-8e475c066766.sql (the explorer's --out writes it beside this script): it
-- makes database Redial and what the scenario needs there. Be a member of db_owner. SHA-256 of that
-- file: 8e475c066766fe1fdd44134152b62837b9a278f51355562eea591b5cada84d52
-- 2. Run SETUP in any window.
-- 3. Copy each section WINDOW n into a query window of its own and run them all; the order in which
--    you start them does not matter. Each prints the steps it does; a window that is silent waits for
--    another one, or blocks: the comments in the procedures say which.
-- 4. Run CLEAN-UP in a fresh window.
-- To look round between steps, put a number of seconds into explorer.Turn (@pause) in SETUP.
--
-- How a window stops in mid-procedure: line EXECUTE explorer.Stop stands before the statement. It
-- waits for an application lock (sp_getapplock, @LockOwner = 'Session') that the window whose turn
-- comes first holds until it has done its steps. Transactions come and go meanwhile and keep it.
--
-- What is not as in the search:
-- * The altered procedures hold their text and those lines, nothing else; a stop between two
--   statements takes no lock of the database's data. Signatures of altered modules are gone until the
--   installation is run again.
-- * Line numbers in error messages count those lines too.
-- * Activation is OFF; a window runs the procedure by hand, as you and not as the activation user.
-- * A timer fires because explorer.FireTimer sets it to one second (BEGIN CONVERSATION TIMER).
-- * A window whose wait ends goes on at once as far as its next stop; in the search it may dawdle.
-- * A server looks for deadlocks every few seconds, not at once, and may choose another victim.
-- * Search: the reader of the target runs in one step: it shares no lock with the senders but the
-- queue's own
--
-- Steps:
--   1. window 1: sender A: usp_AcquireConversation line 38: SELECT @handle = sc.Handle, @sentBy =
--      sc.TransactionId FROM [audit].[SessionConversations]
--   2. server: a timer fires (ssb.timer): explorer.Ready lets it, before the first step of a window
--   3. window 2: reader of InitiatorQueue: usp_SenderActivation line 43: RECEIVE TOP (1) @handle =
--      conversation_handle, @messageType = message_type_name, @sequence
--   4. window 2: reader of InitiatorQueue: usp_SenderActivation line 68: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--   5. window 2: reader of InitiatorQueue: usp_RecycleInOneTransaction line 25: SELECT
--      @conversationKey = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--   6. window 2: reader of InitiatorQueue: usp_RecycleInOneTransaction line 33: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* The clustered key first, the Handle
--   7. window 2: reader of InitiatorQueue: usp_SenderActivation line 87: ROLLBACK TRANSACTION
--   8. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 43: RECEIVE TOP (1)
--      @handle = conversation_handle, @messageType = message_type_name, @sequence
--   9. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 68: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--  10. window 2: reader of InitiatorQueue (2): usp_RecycleInOneTransaction line 25: SELECT
--      @conversationKey = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--  11. window 2: reader of InitiatorQueue (2): usp_RecycleInOneTransaction line 33: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* The clustered key first, the Handle
--  12. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 87: ROLLBACK TRANSACTION
--  13. window 2: reader of InitiatorQueue (3): usp_SenderActivation line 43: RECEIVE TOP (1)
--      @handle = conversation_handle, @messageType = message_type_name, @sequence
--  14. window 2: reader of InitiatorQueue (3): usp_SenderActivation line 68: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--  15. window 2: reader of InitiatorQueue (3): usp_RecycleInOneTransaction line 25: SELECT
--      @conversationKey = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--  16. window 2: reader of InitiatorQueue (3): usp_RecycleInOneTransaction line 33: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* The clustered key first, the Handle
--  17. window 2: reader of InitiatorQueue (3): usp_SenderActivation line 87: ROLLBACK TRANSACTION
--  18. window 2: reader of InitiatorQueue (4): usp_SenderActivation line 43: RECEIVE TOP (1)
--      @handle = conversation_handle, @messageType = message_type_name, @sequence
--  19. window 2: reader of InitiatorQueue (4): usp_SenderActivation line 68: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--  20. window 2: reader of InitiatorQueue (4): usp_RecycleInOneTransaction line 25: SELECT
--      @conversationKey = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--  21. window 2: reader of InitiatorQueue (4): usp_RecycleInOneTransaction line 33: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* The clustered key first, the Handle
--  22. window 2: reader of InitiatorQueue (4): usp_SenderActivation line 87: ROLLBACK TRANSACTION
--  23. window 2: reader of InitiatorQueue (5): usp_SenderActivation line 43: RECEIVE TOP (1)
--      @handle = conversation_handle, @messageType = message_type_name, @sequence
--  24. window 2: reader of InitiatorQueue (5): usp_SenderActivation line 68: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--  25. window 2: reader of InitiatorQueue (5): usp_RecycleInOneTransaction line 25: SELECT
--      @conversationKey = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--  26. window 2: reader of InitiatorQueue (5): usp_RecycleInOneTransaction line 33: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* The clustered key first, the Handle
--  27. window 2: reader of InitiatorQueue (5): usp_SenderActivation line 87: ROLLBACK TRANSACTION
-- => L2 InitiatorQueue switched off


-- ======================================== SETUP ========================================
USE [Redial];
GO
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE SCHEMA explorer;
GO
CREATE TABLE explorer.QueryWindow (Number int NOT NULL PRIMARY KEY, Spid int NOT NULL, Ready bit NOT NULL);
GO
-- The calling window is done with its turns before @turn and waits for the other windows' ones.
-- @blocks: its next statement will wait for a lock, so the next window need not wait for it.
CREATE PROCEDURE explorer.Turn @turn int, @blocks bit = 0, @pause int = 0
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @done int = 0, @name nvarchar(255), @result int, @steps nvarchar(60), @settle int = 0;
    DECLARE @window int = CAST(SESSION_CONTEXT(N'explorer window') AS int);
    DECLARE @delay datetime;

    WHILE @done < @turn - 1  -- first give, then wait: two windows never wait for each other here
    BEGIN
        SET @done += 1;
        SET @name = CONCAT(N'explorer turn ', @done);
        IF APPLOCK_MODE(N'public', @name, N'Session') = N'Exclusive'
        BEGIN
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Session';
        END;
    END;

    SET @done = 0;
    WHILE @done < @turn - 1
    BEGIN
        SET @done += 1;
        SET @name = CONCAT(N'explorer turn ', @done);
        EXECUTE @result = sys.sp_getapplock @Resource = @name, @LockMode = N'Shared',
            @LockOwner = N'Session', @LockTimeout = 600000;
        IF @result < 0
        BEGIN
            RAISERROR (N'LEFT THE SCRIPT: turn %d did not come to its end.', 0, 1, @done) WITH NOWAIT;
        END
        ELSE
        BEGIN
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Session';
        END;
    END;

    SELECT @steps = t.Steps, @settle = t.Settle
    FROM (VALUES
        (1, N'step 1', 0),
        (2, N'steps 3 to 27', 0)
    ) AS t (Turn, Steps, Settle)
    WHERE t.Turn = @turn;

    SET @settle += @pause;  -- the window before blocks about now, or its wait has to time out
    IF @settle > 0
    BEGIN
        SET @delay = DATEADD(SECOND, @settle, 0);
        WAITFOR DELAY @delay;
    END;
    IF @steps IS NOT NULL AND @blocks = 0
    BEGIN
        RAISERROR (N'window %d: %s', 0, 1, @window, @steps) WITH NOWAIT;
    END;

    IF @blocks = 1
    BEGIN
        RAISERROR (N'window %d: %s, and it blocks', 0, 1, @window, @steps) WITH NOWAIT;
        SET @name = CONCAT(N'explorer turn ', @turn);
        IF APPLOCK_MODE(N'public', @name, N'Session') = N'Exclusive'
        BEGIN
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Session';
        END;
    END;
END;
GO
-- Stands before a statement: waits when this window comes by for a time that has a turn.
CREATE PROCEDURE explorer.Stop @place nvarchar(20)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @window int = CAST(SESSION_CONTEXT(N'explorer window') AS int);
    DECLARE @visit int, @turn int, @blocks bit;

    IF @window IS NULL
    BEGIN
        RETURN;
    END;
    SET @visit = ISNULL(CAST(SESSION_CONTEXT(@place) AS int), 0) + 1;
    EXECUTE sys.sp_set_session_context @key = @place, @value = @visit;

    SELECT @turn = s.Turn, @blocks = s.Blocks
    FROM (VALUES
        (1, N'p1', 1, 3, 0)
    ) AS s (QueryWindow, Place, Visit, Turn, Blocks)
    WHERE s.QueryWindow = @window AND s.Place = @place AND s.Visit = @visit;

    IF @turn IS NOT NULL
    BEGIN
        EXECUTE explorer.Turn @turn = @turn, @blocks = @blocks;
    END;
END;
GO
-- Takes the locks of this window's turns and lets the windows before it warm up first.
CREATE PROCEDURE explorer.Enter @window int
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @turn int = 0, @name nvarchar(255);

    EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
    EXECUTE sys.sp_set_session_context @key = N'p1', @value = NULL;
    WHILE 1 = 1
    BEGIN
        SELECT @turn = MIN(t.Turn)
        FROM (VALUES (1, 1), (2, 2)) AS t (Turn, QueryWindow)
        WHERE t.QueryWindow = @window AND t.Turn > @turn;
        IF @turn IS NULL
        BEGIN
            BREAK;
        END;
        SET @name = CONCAT(N'explorer turn ', @turn);
        EXECUTE sys.sp_getapplock @Resource = @name, @LockMode = N'Exclusive', @LockOwner = N'Session';
    END;

    INSERT INTO explorer.QueryWindow (Number, Spid, Ready)
    VALUES (@window, @@SPID, 0);
    WHILE (SELECT COUNT(*) FROM explorer.QueryWindow AS w WHERE w.Number < @window AND w.Ready = 1) < @window - 1
    BEGIN
        WAITFOR DELAY '00:00:01';
    END;
END;
GO
-- The conversation timer that would fire as number @rank fires in a second.
CREATE PROCEDURE explorer.FireTimer @rank int
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @handle uniqueidentifier;

    SELECT @handle = x.conversation_handle
    FROM
    (
        SELECT ce.conversation_handle, ROW_NUMBER() OVER (ORDER BY ce.dialog_timer) AS Place
        FROM sys.conversation_endpoints AS ce
        WHERE ce.dialog_timer > '19010101'
    ) AS x
    WHERE x.Place = @rank;
    BEGIN CONVERSATION TIMER (@handle) TIMEOUT = 1;
    WAITFOR DELAY '00:00:03';
END;
GO
-- Everybody is there: activation stops, timers of the first steps fire, the steps begin.
CREATE PROCEDURE explorer.Ready @window int
AS
BEGIN
    SET NOCOUNT ON;
    UPDATE w SET Ready = 1 FROM explorer.QueryWindow AS w WHERE w.Number = @window;
    WHILE (SELECT COUNT(*) FROM explorer.QueryWindow AS w WHERE w.Ready = 1) < 2
    BEGIN
        WAITFOR DELAY '00:00:01';
    END;
    IF @window = 1
    BEGIN
        WAITFOR DELAY '00:00:07';  -- what activation still does comes to its end
        ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION (STATUS = OFF);
        ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION (STATUS = OFF);
        EXECUTE explorer.FireTimer @rank = 1;
    END;
    EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = @window;
END;
GO
-- The session of a window is killed; its work is undone before the next step.
CREATE PROCEDURE explorer.KillWindow @window int
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @kill nvarchar(40);

    SELECT @kill = CONCAT(N'KILL ', w.Spid, N';') FROM explorer.QueryWindow AS w WHERE w.Number = @window;
    EXECUTE (@kill);
    WAITFOR DELAY '00:00:03';
END;
GO
-- Called within the procedures below, whoever they run as.
GRANT EXECUTE ON SCHEMA::explorer TO public;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: timer_strategy = lock_timeout */
/* The dialog to send on, found by the row of its key, or begun. Called inside a transaction, which then
   owns the row R to its end: nobody closes the dialog before the caller's SEND commits.
   Raises 50102 when the gate is closed, and in a transaction of usp_Send's own 2627 when another one made
   the key's row meanwhile (start over). Locks: R; then the groups of dialogs closed or begun here (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @rowHandle uniqueidentifier = NULL;
    DECLARE @placeholder uniqueidentifier;
    DECLARE @tries int = 0;
    DECLARE @placed bit = 0;            /* 1: the row is ours, a placeholder, not yet with a dialog */
    DECLARE @state char(2) = NULL;
    DECLARE @vanished bit = 0;
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;

    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 1  R                                                                                    */
        /* ------------------------------------------------------------------------------------- */
        WHILE @rowHandle IS NULL
        BEGIN
            SET @tries = @tries + 1;
            SET @handle = NULL;
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the caller's
                   SEND commits; S locks would deadlock on conversion (F-122).
                   ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
                   at every other session's row (F-121). Proved by the explorer: without UPDLOCK the
                   message after EndOfStream is found. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey;

            SET @rowHandle = @handle;

            /* --------------------------------------------------------------------------------- */
            /* 2  First use: the row comes before the dialog, with a placeholder that is unique    */
            /* --------------------------------------------------------------------------------- */
            IF @rowHandle IS NULL
            BEGIN
                SET @placeholder = NEWID();

                BEGIN TRY
                    /* A key taken meanwhile must not doom what the caller did before. For this
                       statement only: with XACT_ABORT OFF a client's cancel leaves the transaction
                       open. Caught here, where it is still OFF: what a CATCH further out, under ON,
                       would make of it is unknown (F-400). */
                    IF @ownsTransaction = 0
                        SET XACT_ABORT OFF;

                    INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
                    VALUES (1, @conversationKey, @placeholder);
                    SELECT @rowHandle = @placeholder, @placed = 1;
                END TRY
                BEGIN CATCH
                    /* 2627: another transaction made the row first and has committed (F-124): look it
                       up. In a transaction of our own it dooms, and usp_Send starts over. */
                    IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @tries >= 5
                        THROW;
                END CATCH;

                IF @callerAborts = 1
                    SET XACT_ABORT ON;
            END;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 3  The gate, read after R is held: a drain closes it first and passes over R after (F-148) */
        /* ------------------------------------------------------------------------------------- */
        -- window 1 waits here until the last step is done
        EXECUTE explorer.Stop @place = N'p1';
        IF EXISTS (SELECT 1
                   FROM [audit].[Gate] AS g
                       WITH (FORCESEEK)     /* its one row; a plain read of what is committed */
                   WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ------------------------------------------------------------------------------------- */
        /* 4  A look at the state keeps dead handles from SEND: its 8426 may doom the transaction    */
        /*    (F-131). NULL is gone, and nobody was told of its end: who does not see the dialogs    */
        /*    he begins cannot begin any (50104)                                                     */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)   /* whether a plain read waits for an END is unknown; we hold R (F-126) */
            WHERE ce.conversation_handle = @handle;
            IF @state IS NULL
                SET @vanished = 1;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 5  Its time has come: we own the row, so we close it, nobody else can */
        /* ------------------------------------------------------------------------------------- */
        /* Nothing is closed in a call that found a dialog dead: the next attempt of usp_Send is for
           sending (F-150). A transaction that has sent on a dialog goes on with it: so its messages are
           in one order, whatever the dialog's age (F-464). */
        IF @deadHandle IS NULL AND @state IN ('SO', 'CO')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE()))))
        BEGIN
            BEGIN TRY
                /* As for SEND itself: a dead dialog must not doom the caller's work (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead already, so nobody can or need be told. In a transaction of our
                   own XACT_ABORT has doomed it, and usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* Any other error: if EndOfStream went out before it, a caller who goes on must
                       not commit a row that leads to it, or it goes out again, or a message behind it
                       (S2). If not, the next send closes the dialog. */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1
                                   FROM sys.conversation_endpoints AS ce
                                       WITH (NOLOCK)    /* as above */
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                    BEGIN
                        DELETE sc
                        FROM [audit].[SessionConversations] AS sc
                            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1
                          AND sc.ConversationKey = @conversationKey
                          AND sc.Handle = @rowHandle;
                    END;

                    THROW;
                END;
            END CATCH;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;

            SET @deadHandle = @handle;      /* of no more use: begin the next one below */
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 6  First use, or a dialog of no more use: begin one in the same row                      */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 1 OR @vanished = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
        BEGIN
            EXECUTE [audit].[usp_BeginConversation]
                @conversationKey = @conversationKey,
                @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction,
                @vanished = @vanished,
                @handle = @handle OUTPUT;
        END;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a placeholder. In a transaction of
           our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND @placed = 1 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [audit].[SessionConversations] AS sc
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as above: one row */
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey
              AND sc.Handle = @rowHandle;
        END;

        THROW;
    END CATCH;
END;
GO


-- ======================================== WINDOW 1 ========================================
-- sender A
USE [Redial];
GO
EXECUTE explorer.Enter @window = 1;
GO
-- sender A, before the first step:
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA0;
GO
EXECUTE explorer.Ready @window = 1;
GO
-- -------- step 1: sender A: usp_AcquireConversation line 38: SELECT @handle = sc.Handle, @sentBy =
-- sc.TransactionId FROM [audit].[SessionConversations]
EXECUTE explorer.Turn @turn = 1;
GO
-- sender A:
-- [client 0 batch 0]
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA1;
GO
EXECUTE explorer.Turn @turn = 3;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================== WINDOW 2 ========================================
-- activation by hand: InitiatorQueue
USE [Redial];
GO
EXECUTE explorer.Enter @window = 2;
GO
EXECUTE explorer.Ready @window = 2;
GO
-- -------- steps 3 to 27: reader of InitiatorQueue: usp_SenderActivation line 43: RECEIVE TOP (1)
-- @handle = conversation_handle, @messageType = message_type_name, @sequence
EXECUTE explorer.Turn @turn = 2;
GO
-- reader of InitiatorQueue, by hand:
-- [reader s2]
EXECUTE [audit].[usp_SenderActivation];
GO
-- reader of InitiatorQueue (2), by hand:
-- [reader s3]
EXECUTE [audit].[usp_SenderActivation];
GO
-- reader of InitiatorQueue (3), by hand:
-- [reader s4]
EXECUTE [audit].[usp_SenderActivation];
GO
-- reader of InitiatorQueue (4), by hand:
-- [reader s5]
EXECUTE [audit].[usp_SenderActivation];
GO
-- reader of InitiatorQueue (5), by hand:
-- [reader s6]
EXECUTE [audit].[usp_SenderActivation];
GO
EXECUTE explorer.Turn @turn = 3;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================= CLEAN-UP ========================================
USE [Redial];
GO
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: timer_strategy = lock_timeout */
/* The dialog to send on, found by the row of its key, or begun. Called inside a transaction, which then
   owns the row R to its end: nobody closes the dialog before the caller's SEND commits.
   Raises 50102 when the gate is closed, and in a transaction of usp_Send's own 2627 when another one made
   the key's row meanwhile (start over). Locks: R; then the groups of dialogs closed or begun here (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @rowHandle uniqueidentifier = NULL;
    DECLARE @placeholder uniqueidentifier;
    DECLARE @tries int = 0;
    DECLARE @placed bit = 0;            /* 1: the row is ours, a placeholder, not yet with a dialog */
    DECLARE @state char(2) = NULL;
    DECLARE @vanished bit = 0;
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;

    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 1  R                                                                                    */
        /* ------------------------------------------------------------------------------------- */
        WHILE @rowHandle IS NULL
        BEGIN
            SET @tries = @tries + 1;
            SET @handle = NULL;
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the caller's
                   SEND commits; S locks would deadlock on conversion (F-122).
                   ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
                   at every other session's row (F-121). Proved by the explorer: without UPDLOCK the
                   message after EndOfStream is found. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey;

            SET @rowHandle = @handle;

            /* --------------------------------------------------------------------------------- */
            /* 2  First use: the row comes before the dialog, with a placeholder that is unique    */
            /* --------------------------------------------------------------------------------- */
            IF @rowHandle IS NULL
            BEGIN
                SET @placeholder = NEWID();

                BEGIN TRY
                    /* A key taken meanwhile must not doom what the caller did before. For this
                       statement only: with XACT_ABORT OFF a client's cancel leaves the transaction
                       open. Caught here, where it is still OFF: what a CATCH further out, under ON,
                       would make of it is unknown (F-400). */
                    IF @ownsTransaction = 0
                        SET XACT_ABORT OFF;

                    INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
                    VALUES (1, @conversationKey, @placeholder);
                    SELECT @rowHandle = @placeholder, @placed = 1;
                END TRY
                BEGIN CATCH
                    /* 2627: another transaction made the row first and has committed (F-124): look it
                       up. In a transaction of our own it dooms, and usp_Send starts over. */
                    IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @tries >= 5
                        THROW;
                END CATCH;

                IF @callerAborts = 1
                    SET XACT_ABORT ON;
            END;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 3  The gate, read after R is held: a drain closes it first and passes over R after (F-148) */
        /* ------------------------------------------------------------------------------------- */
        IF EXISTS (SELECT 1
                   FROM [audit].[Gate] AS g
                       WITH (FORCESEEK)     /* its one row; a plain read of what is committed */
                   WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ------------------------------------------------------------------------------------- */
        /* 4  A look at the state keeps dead handles from SEND: its 8426 may doom the transaction    */
        /*    (F-131). NULL is gone, and nobody was told of its end: who does not see the dialogs    */
        /*    he begins cannot begin any (50104)                                                     */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)   /* whether a plain read waits for an END is unknown; we hold R (F-126) */
            WHERE ce.conversation_handle = @handle;
            IF @state IS NULL
                SET @vanished = 1;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 5  Its time has come: we own the row, so we close it, nobody else can */
        /* ------------------------------------------------------------------------------------- */
        /* Nothing is closed in a call that found a dialog dead: the next attempt of usp_Send is for
           sending (F-150). A transaction that has sent on a dialog goes on with it: so its messages are
           in one order, whatever the dialog's age (F-464). */
        IF @deadHandle IS NULL AND @state IN ('SO', 'CO')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE()))))
        BEGIN
            BEGIN TRY
                /* As for SEND itself: a dead dialog must not doom the caller's work (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead already, so nobody can or need be told. In a transaction of our
                   own XACT_ABORT has doomed it, and usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* Any other error: if EndOfStream went out before it, a caller who goes on must
                       not commit a row that leads to it, or it goes out again, or a message behind it
                       (S2). If not, the next send closes the dialog. */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1
                                   FROM sys.conversation_endpoints AS ce
                                       WITH (NOLOCK)    /* as above */
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                    BEGIN
                        DELETE sc
                        FROM [audit].[SessionConversations] AS sc
                            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1
                          AND sc.ConversationKey = @conversationKey
                          AND sc.Handle = @rowHandle;
                    END;

                    THROW;
                END;
            END CATCH;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;

            SET @deadHandle = @handle;      /* of no more use: begin the next one below */
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 6  First use, or a dialog of no more use: begin one in the same row                      */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 1 OR @vanished = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
        BEGIN
            EXECUTE [audit].[usp_BeginConversation]
                @conversationKey = @conversationKey,
                @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction,
                @vanished = @vanished,
                @handle = @handle OUTPUT;
        END;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a placeholder. In a transaction of
           our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND @placed = 1 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [audit].[SessionConversations] AS sc
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as above: one row */
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey
              AND sc.Handle = @rowHandle;
        END;

        THROW;
    END CATCH;
END;
GO
DROP PROCEDURE IF EXISTS explorer.KillWindow, explorer.Ready, explorer.FireTimer, explorer.Enter, explorer.Stop, explorer.Turn;
DROP TABLE IF EXISTS explorer.QueryWindow;
DROP SCHEMA IF EXISTS explorer;
GO
ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION (STATUS = ON);
GO
ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION (STATUS = ON);
GO
