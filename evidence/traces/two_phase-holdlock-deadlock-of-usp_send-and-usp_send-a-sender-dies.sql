-- deadlock of usp_Send and usp_Send: a sender dies, played by 2 query windows
-- Played on the embedded broker by 2 sessions: meets 'deadlock of usp_Send and usp_Send: a sender dies'.
-- Scenario: spid timer two_phase holdlock rc autocommit, two senders, the first message of each
-- Found on the embedded broker, which is not SQL Server. To replay it there: --replay
-- 52.51x4.52x3@709e2156
--
-- FOR A TEST DATABASE. Procedures are altered while this is played, and put back by CLEAN-UP.
-- 1. Run installation-b725b2c3e7e4.sql (the explorer's --out writes it beside this script): it
-- makes database Redial and what the scenario needs there. Be a member of db_owner. SHA-256 of that
-- file: b725b2c3e7e4145bc6e8bd54432d4df2aee0a3b72f48aabca1a1027e41eee9c3
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
-- * Search: S2 has nothing to say here: an EndOfStream was sent cannot be
-- * Search: S4 has nothing to say here: two messages were on one dialog cannot be
-- * Search: S8 has nothing to say here: two messages were on one dialog cannot be
-- * Search: L1 has nothing to say here: a recycled dialog came to its end cannot be
-- * Search: L2 has nothing to say here: a transaction with messages was rolled back cannot be
--
-- Steps:
--   1. window 2: sender B: usp_Send line 80: SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
--      FROM [audit].[SessionConversations]
--   2. window 1: sender A: usp_Send line 80: SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
--      FROM [audit].[SessionConversations]
--   3. window 1: sender A: usp_Send line 90: IF @handle IS NULL OR @attempt > 1 OR NOT EXISTS
--      (SELECT 1 FROM sys.conversation_endpoints
--   4. window 1: sender A: usp_AcquireConversation line 37: SELECT @handle = sc.Handle, @sentBy =
--      sc.TransactionId FROM [audit].[SessionConversations]
--   5. window 1: sender A: usp_AcquireConversation line 62: INSERT INTO
--      [audit].[SessionConversations] (ConfigId, ConversationKey, Handle) VALUES (1,
--      sender A WAITS; it holds RangeS-S KEY SessionConversations.PK_SessionConversations
--      (INFINITY); waits for RangeX-S KEY SessionConversations.PK_SessionConversations (INFINITY)
--   6. window 2: sender B: usp_Send line 90: IF @handle IS NULL OR @attempt > 1 OR NOT EXISTS
--      (SELECT 1 FROM sys.conversation_endpoints
--   7. window 2: sender B: usp_AcquireConversation line 37: SELECT @handle = sc.Handle, @sentBy =
--      sc.TransactionId FROM [audit].[SessionConversations]
--   8. window 2: sender B: usp_AcquireConversation line 62: INSERT INTO
--      [audit].[SessionConversations] (ConfigId, ConversationKey, Handle) VALUES (1,
--      sender B WAITS; it holds RangeS-S KEY SessionConversations.PK_SessionConversations
--      (INFINITY); waits for RangeX-S KEY SessionConversations.PK_SessionConversations (INFINITY)
-- => deadlock of usp_Send and usp_Send: a sender dies; the victim is sender B


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
        (2, N'steps 2 to 5', 0),
        (3, N'steps 6 to 8', 1)
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
        (1, N'p1', 1, 2, 1),
        (2, N'p2', 1, 3, 0)
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
    EXECUTE sys.sp_set_session_context @key = N'p2', @value = NULL;
    WHILE 1 = 1
    BEGIN
        SELECT @turn = MIN(t.Turn)
        FROM (VALUES (1, 2), (2, 1), (3, 2)) AS t (Turn, QueryWindow)
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
    IF @window = 2
    BEGIN
        WAITFOR DELAY '00:00:07';  -- what activation still does comes to its end
        ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION (STATUS = OFF);
        ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION (STATUS = OFF);
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
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = holdlock */
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
                /* For comparison only. HOLDLOCK: an S lock kept to the end of the transaction, as the
                   article had it first; two that both go on to write the row deadlock (F-122). */
                WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
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

                    -- window 1 waits here until step 1 is done in window 2, then does steps 2 to 5; THE STATEMENT BELOW BLOCKS: it waits for RangeX-S KEY SessionConversations.PK_SessionConversations (INFINITY), held by window 2; go to window 2
                    EXECUTE explorer.Stop @place = N'p1';
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
                       WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held (F-148) */
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
CREATE OR ALTER PROCEDURE [audit].[usp_Send]
    @fromService sysname,
    @toService sysname,
    @onContract sysname,
    @messageType sysname,
    @messageBody varbinary(max),        /* NULL and empty are both sent without a body (F-107) */
    @key nvarchar(4000) = NULL,         /* not used with key = spid: must be NULL */
    @messageId uniqueidentifier = NULL  /* not used with delivery = at_least_once: must be NULL */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = holdlock */
/* Sends one message on a conversation that usp_AcquireConversation finds, or raises: it never returns 0
   without the message being part of the transaction. Returns 0; answers by no result set.
   The message goes out with a copy (SentMessage) that stays until it has landed.
   Locks: the row R that leads to the conversation, then the conversation group G, all kept to the
   end of the transaction (the caller's if there is one). Nothing else is waited for. */
BEGIN
    SET NOCOUNT ON;
    /* Callers come SERIALIZABLE (range locks would tie sessions together), SNAPSHOT (3960) and READ
       UNCOMMITTED. Ends with this procedure (F-116). A SNAPSHOT transaction should have read something
       before its first send, or its own next statement may fail with 3951 (F-144). */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit;
    DECLARE @callerAborts bit;
    DECLARE @errors nvarchar(4000);
    DECLARE @conversationKey nvarchar(200);
    DECLARE @handle uniqueidentifier;
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */
    DECLARE @error int;
    DECLARE @attempt int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: every wrong one is named, then one error is raised                               */
    /* ----------------------------------------------------------------------------------------- */
    /* EndOfStream is no type to be sent: that is for the procedure that deleted the row, once. Names of
       types are compared byte for byte, as SEND compares them (F-376). */
    SELECT @attempt = 0,
        @ownsTransaction = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @callerAborts = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END,
        @conversationKey = CONVERT(nvarchar(200), @@SPID),
        @errors = CONCAT(
            CASE WHEN ISNULL(@fromService, N'') <> N'//redial/audit/initiator'
                THEN N'@fromService must be ''//redial/audit/initiator''. ' END,
            CASE WHEN ISNULL(@toService, N'') <> N'//redial/audit/target'
                THEN N'@toService must be ''//redial/audit/target''. ' END,
            CASE WHEN ISNULL(@onContract, N'') <> N'//redial/audit/contract'
                THEN N'@onContract must be ''//redial/audit/contract''. ' END,
            CASE WHEN ISNULL(@messageType, N'') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/event')
                THEN N'@messageType must be one of: ''//redial/audit/event''. ' END,
            CASE WHEN @key IS NOT NULL
                THEN N'@key must be NULL: this configuration has key = spid. ' END,
            CASE WHEN @messageId IS NOT NULL
                THEN N'@messageId must be NULL: this configuration has delivery = at_least_once. ' END);

    IF @errors <> N''
    BEGIN
        SET @errors = LEFT(RTRIM(@errors), 2040);
        THROW 50100, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Look up, send; start over when the dialog is found dead (bounded)                        */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SELECT @attempt = @attempt + 1, @handle = NULL;

        BEGIN TRY
            /* -- 2.1  Look-up and SEND are one transaction: outside one the row lock ends with the
                       SELECT, and a message is lost after EndOfStream (F-123) ------------------- */
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 2.2  R, and with it the right to send on the conversation it leads to ---------------- */
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* For comparison only. HOLDLOCK: an S lock kept to the end of the transaction, as the
                   article had it first; two that both go on to write the row deadlock (F-122). */
                WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey;

            /* No row yet, a dialog that is over or due, or a closed gate: that takes more. A look at the
               state keeps dead handles from SEND, whose 8426 may doom the transaction (F-131). */
            -- window 2 waits here until steps 2 to 5 are done in window 1, then does steps 6 to 8
            EXECUTE explorer.Stop @place = N'p2';
            IF @handle IS NULL OR @attempt > 1
               OR NOT EXISTS (SELECT 1
                              FROM sys.conversation_endpoints AS ce
                                  WITH (NOLOCK)     /* whether a plain read waits for an END is unknown; we hold R (F-126) */
                              WHERE ce.conversation_handle = @handle AND ce.state IN ('SO', 'CO')
                                AND (ce.lifetime > DATEADD(second, 3690, GETUTCDATE()) OR @sentBy = CURRENT_TRANSACTION_ID()))
               OR EXISTS (SELECT 1
                          FROM [audit].[Gate] AS g
                              WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held (F-148) */
                          WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                EXECUTE [audit].[usp_AcquireConversation]
                    @conversationKey = @conversationKey,
                    @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction,
                    @handle = @handle OUTPUT;

            /* -- 2.3  G. In a caller's transaction a dead handle must not doom the caller's work:
                       XACT_ABORT is OFF for this one statement ---------------------------------- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            IF @messageBody IS NULL
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
            END
            ELSE
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);
            END;

            /* -- 2.4  What belongs to the message. ON: if any of it fails, a caller who goes on after our
                       error can only roll back, and no message is committed without it (F-460) --- */
            SET XACT_ABORT ON;
            UPDATE sc
            SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here (F-464) */
            OUTPUT INSERTED.ConversationId, ce.send_sequence - 1, @messageType, @messageBody
            INTO [audit].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            INNER LOOP JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = @handle     /* our own dialog (F-126) */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
            IF @@ROWCOUNT <> 1
                THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW: what an error does to the caller's
                                           transaction is the caller's choice */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: no such handle, or it can no longer send; 2627: another transaction of
               this key made the row. All else, and a transaction that can only be rolled back by
               the caller, is the caller's to know. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5
               OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
            BEGIN
                THROW;
            END;

            /* Without a handle it was an aged dialog that could not be closed: zeros say that one was
               found dead, and nothing is closed in the next attempt (F-150). */
            IF @error <> 2627
                SET @deadHandle = ISNULL(@handle, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000'));
        END CATCH;
    END;
END;
GO


-- ======================================== WINDOW 1 ========================================
-- sender A
USE [Redial];
GO
EXECUTE explorer.Enter @window = 1;
GO
EXECUTE explorer.Ready @window = 1;
GO
-- -------- steps 2 to 5: sender A: usp_Send line 80: SELECT @handle = sc.Handle, @sentBy =
-- sc.TransactionId FROM [audit].[SessionConversations]
EXECUTE explorer.Turn @turn = 2;
GO
-- sender A:
-- [client 0 batch 0]
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA1;
GO
EXECUTE explorer.Turn @turn = 4;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================== WINDOW 2 ========================================
-- sender B
USE [Redial];
GO
EXECUTE explorer.Enter @window = 2;
GO
EXECUTE explorer.Ready @window = 2;
GO
-- -------- step 1: sender B: usp_Send line 80: SELECT @handle = sc.Handle, @sentBy =
-- sc.TransactionId FROM [audit].[SessionConversations]
EXECUTE explorer.Turn @turn = 1;
GO
-- sender B:
-- [client 1 batch 0]
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xB1;
GO
EXECUTE explorer.Turn @turn = 4;
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
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = holdlock */
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
                /* For comparison only. HOLDLOCK: an S lock kept to the end of the transaction, as the
                   article had it first; two that both go on to write the row deadlock (F-122). */
                WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
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
                       WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held (F-148) */
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
CREATE OR ALTER PROCEDURE [audit].[usp_Send]
    @fromService sysname,
    @toService sysname,
    @onContract sysname,
    @messageType sysname,
    @messageBody varbinary(max),        /* NULL and empty are both sent without a body (F-107) */
    @key nvarchar(4000) = NULL,         /* not used with key = spid: must be NULL */
    @messageId uniqueidentifier = NULL  /* not used with delivery = at_least_once: must be NULL */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = holdlock */
/* Sends one message on a conversation that usp_AcquireConversation finds, or raises: it never returns 0
   without the message being part of the transaction. Returns 0; answers by no result set.
   The message goes out with a copy (SentMessage) that stays until it has landed.
   Locks: the row R that leads to the conversation, then the conversation group G, all kept to the
   end of the transaction (the caller's if there is one). Nothing else is waited for. */
BEGIN
    SET NOCOUNT ON;
    /* Callers come SERIALIZABLE (range locks would tie sessions together), SNAPSHOT (3960) and READ
       UNCOMMITTED. Ends with this procedure (F-116). A SNAPSHOT transaction should have read something
       before its first send, or its own next statement may fail with 3951 (F-144). */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit;
    DECLARE @callerAborts bit;
    DECLARE @errors nvarchar(4000);
    DECLARE @conversationKey nvarchar(200);
    DECLARE @handle uniqueidentifier;
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */
    DECLARE @error int;
    DECLARE @attempt int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: every wrong one is named, then one error is raised                               */
    /* ----------------------------------------------------------------------------------------- */
    /* EndOfStream is no type to be sent: that is for the procedure that deleted the row, once. Names of
       types are compared byte for byte, as SEND compares them (F-376). */
    SELECT @attempt = 0,
        @ownsTransaction = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @callerAborts = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END,
        @conversationKey = CONVERT(nvarchar(200), @@SPID),
        @errors = CONCAT(
            CASE WHEN ISNULL(@fromService, N'') <> N'//redial/audit/initiator'
                THEN N'@fromService must be ''//redial/audit/initiator''. ' END,
            CASE WHEN ISNULL(@toService, N'') <> N'//redial/audit/target'
                THEN N'@toService must be ''//redial/audit/target''. ' END,
            CASE WHEN ISNULL(@onContract, N'') <> N'//redial/audit/contract'
                THEN N'@onContract must be ''//redial/audit/contract''. ' END,
            CASE WHEN ISNULL(@messageType, N'') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/event')
                THEN N'@messageType must be one of: ''//redial/audit/event''. ' END,
            CASE WHEN @key IS NOT NULL
                THEN N'@key must be NULL: this configuration has key = spid. ' END,
            CASE WHEN @messageId IS NOT NULL
                THEN N'@messageId must be NULL: this configuration has delivery = at_least_once. ' END);

    IF @errors <> N''
    BEGIN
        SET @errors = LEFT(RTRIM(@errors), 2040);
        THROW 50100, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Look up, send; start over when the dialog is found dead (bounded)                        */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SELECT @attempt = @attempt + 1, @handle = NULL;

        BEGIN TRY
            /* -- 2.1  Look-up and SEND are one transaction: outside one the row lock ends with the
                       SELECT, and a message is lost after EndOfStream (F-123) ------------------- */
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 2.2  R, and with it the right to send on the conversation it leads to ---------------- */
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* For comparison only. HOLDLOCK: an S lock kept to the end of the transaction, as the
                   article had it first; two that both go on to write the row deadlock (F-122). */
                WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey;

            /* No row yet, a dialog that is over or due, or a closed gate: that takes more. A look at the
               state keeps dead handles from SEND, whose 8426 may doom the transaction (F-131). */
            IF @handle IS NULL OR @attempt > 1
               OR NOT EXISTS (SELECT 1
                              FROM sys.conversation_endpoints AS ce
                                  WITH (NOLOCK)     /* whether a plain read waits for an END is unknown; we hold R (F-126) */
                              WHERE ce.conversation_handle = @handle AND ce.state IN ('SO', 'CO')
                                AND (ce.lifetime > DATEADD(second, 3690, GETUTCDATE()) OR @sentBy = CURRENT_TRANSACTION_ID()))
               OR EXISTS (SELECT 1
                          FROM [audit].[Gate] AS g
                              WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held (F-148) */
                          WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                EXECUTE [audit].[usp_AcquireConversation]
                    @conversationKey = @conversationKey,
                    @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction,
                    @handle = @handle OUTPUT;

            /* -- 2.3  G. In a caller's transaction a dead handle must not doom the caller's work:
                       XACT_ABORT is OFF for this one statement ---------------------------------- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            IF @messageBody IS NULL
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
            END
            ELSE
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);
            END;

            /* -- 2.4  What belongs to the message. ON: if any of it fails, a caller who goes on after our
                       error can only roll back, and no message is committed without it (F-460) --- */
            SET XACT_ABORT ON;
            UPDATE sc
            SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here (F-464) */
            OUTPUT INSERTED.ConversationId, ce.send_sequence - 1, @messageType, @messageBody
            INTO [audit].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            INNER LOOP JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = @handle     /* our own dialog (F-126) */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
            IF @@ROWCOUNT <> 1
                THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW: what an error does to the caller's
                                           transaction is the caller's choice */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: no such handle, or it can no longer send; 2627: another transaction of
               this key made the row. All else, and a transaction that can only be rolled back by
               the caller, is the caller's to know. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5
               OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
            BEGIN
                THROW;
            END;

            /* Without a handle it was an aged dialog that could not be closed: zeros say that one was
               found dead, and nothing is closed in the next attempt (F-150). */
            IF @error <> 2627
                SET @deadHandle = ISNULL(@handle, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000'));
        END CATCH;
    END;
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
