-- L1 a dialog nobody can find again, played by 3 query windows
-- Played on the embedded broker by 3 sessions: meets S3 message from nowhere, so a server may not show 'L1 a dialog nobody can find again' by it either.
-- Scenario: spid never two_phase none rc autocommit, one sender, the target ends its dialog at any
-- moment
-- Found on the embedded broker, which is not SQL Server. To replay it there: --replay
-- target_ends:0.21x14.51x6.21x4.51x7.21@0affcd9e
--
-- FOR A TEST DATABASE. Procedures are altered while this is played, and put back by CLEAN-UP.
-- 1. Run installation-96185f2f381f.sql, which the explorer writes beside this script: it makes
-- database Redial and what the scenario needs there. Be a member of db_owner. SHA-256 of that file:
-- 96185f2f381fd159ab4a817c02b0a4553ec0310464b925d9fc90b14621b2a382
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
-- * reader of TargetQueue: run without stops.
-- * Search: the reader of the target runs in one step: it shares no lock with the senders but the
-- queue's own
--
-- Steps:
--   1. nobody: operator (target_ends) begins (here: its turn has not come)
--   2. window 3: reader of InitiatorQueue: usp_SenderActivation line 36: RECEIVE TOP (1) @handle =
--      conversation_handle, @messageType = message_type_name, @sequence
--   3. window 3: reader of InitiatorQueue: usp_SenderActivation line 54: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--   4. window 3: reader of InitiatorQueue: usp_SenderActivation line 98: SELECT @pending = COUNT(*)
--      FROM (SELECT TOP (100001) tq.message_sequence_number FROM sys.t
--   5. window 3: reader of InitiatorQueue: usp_ResendPending line 41: IF NOT EXISTS (SELECT 1 FROM
--      sys.conversation_endpoints AS ce WITH (NOLOCK) /* waits for n
--   6. window 3: reader of InitiatorQueue: usp_ResendPending line 60: IF EXISTS (SELECT 1 FROM
--      sys.conversation_endpoints AS ce WITH (NOLOCK) /* as above */ WHE
--   7. window 3: reader of InitiatorQueue: usp_ResendPending line 66: SELECT @conversationId =
--      ce.conversation_id, @state = ce.state, @sent = ce.send_sequence F
--   8. window 3: reader of InitiatorQueue: usp_ResendPending line 81: DECLARE pending CURSOR LOCAL
--      FORWARD_ONLY STATIC READ_ONLY FOR SELECT tq.message_sequence_
--   9. window 3: reader of InitiatorQueue: usp_ResendPending line 90: OPEN pending
--  10. window 3: reader of InitiatorQueue: usp_ResendPending line 91: FETCH NEXT FROM pending INTO
--      @sequence, @messageType, @body
--  11. window 3: reader of InitiatorQueue: usp_ResendPending line 170: END CONVERSATION @handle
--  12. window 3: reader of InitiatorQueue: usp_ResendPending line 174: UPDATE cl SET EndedUtc =
--      SYSUTCDATETIME(), Messages = ISNULL(cl.Messages, @sent), Resent =
--  13. window 3: reader of InitiatorQueue: usp_ResendPending line 185: DELETE pa FROM
--      [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK) /* a scan would wai
--  14. window 3: reader of InitiatorQueue: usp_SenderActivation line 126: COMMIT TRANSACTION
--  15. window 3: reader of InitiatorQueue: usp_RecycleConversation line 37: SELECT @conversationKey
--      = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--  16. window 1: sender A: usp_AcquireConversation line 34: SELECT @handle = sc.Handle FROM
--      [audit].[SessionConversations] AS sc /* For comparison onl
--  17. window 1: sender A: usp_AcquireConversation line 78: IF EXISTS (SELECT 1 FROM [audit].[Gate]
--      AS g WITH (FORCESEEK) /* its one row; a plain read
--  18. window 1: sender A: usp_AcquireConversation line 90: SELECT @state = ce.state FROM
--      sys.conversation_endpoints AS ce WITH (NOLOCK) /* whether a
--  19. window 1: sender A: usp_Send line 91: SEND ON CONVERSATION @handle MESSAGE TYPE @messageType
--      (@messageBody)
--  20. window 1: sender A: usp_Send line 110: ROLLBACK TRANSACTION
--  21. window 1: sender A: usp_AcquireConversation line 34: SELECT @handle = sc.Handle FROM
--      [audit].[SessionConversations] AS sc /* For comparison onl
--  22. window 3: reader of InitiatorQueue: usp_RecycleConversation line 55: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* INDEX, FORCESEEK: locks the cluster
--  23. window 3: reader of InitiatorQueue: usp_RecycleConversation line 72: COMMIT TRANSACTION
--  24. window 3: reader of InitiatorQueue: usp_SenderActivation line 36: RECEIVE TOP (1) @handle =
--      conversation_handle, @messageType = message_type_name, @sequence
--  25. window 3: reader of InitiatorQueue: usp_SenderActivation line 45: COMMIT TRANSACTION
--  26. window 1: sender A: usp_AcquireConversation line 78: IF EXISTS (SELECT 1 FROM [audit].[Gate]
--      AS g WITH (FORCESEEK) /* its one row; a plain read
--  27. window 1: sender A: usp_AcquireConversation line 90: SELECT @state = ce.state FROM
--      sys.conversation_endpoints AS ce WITH (NOLOCK) /* whether a
--  28. window 1: sender A: usp_BeginConversation line 20: BEGIN DIALOG CONVERSATION @newHandle FROM
--      SERVICE [//redial/audit/initiator] TO SERVICE N'
--  29. window 1: sender A: usp_BeginConversation line 29: UPDATE sc SET Handle = @newHandle FROM
--      [audit].[SessionConversations] AS sc /* INDEX, FORC
--  30. window 1: sender A: usp_BeginConversation line 43: INSERT INTO [audit].[ConversationLog]
--      (Handle, ConversationId, ConfigId, ConversationKey)
--  31. window 1: sender A: usp_Send line 91: SEND ON CONVERSATION @handle MESSAGE TYPE @messageType
--      (@messageBody)
--  32. window 1: sender A: usp_Send line 98: COMMIT TRANSACTION
--  33. window 3: reader of TargetQueue: usp_TargetActivation line 57: RECEIVE TOP (500)
--      queuing_order, conversation_handle, message_sequence_number, message_typ
-- => L1 a dialog nobody can find again


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
        (1, N'steps 2 to 15', 0),
        (2, N'steps 16 to 21', 0),
        (3, N'steps 22 to 25', 0),
        (4, N'steps 26 to 32', 0),
        (5, N'step 33', 0)
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
        (3, N'p1', 1, 3, 0),
        (1, N'p2', 2, 4, 0)
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
        FROM (VALUES (1, 3), (2, 1), (3, 3), (4, 1), (5, 3)) AS t (Turn, QueryWindow)
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
    WHILE (SELECT COUNT(*) FROM explorer.QueryWindow AS w WHERE w.Ready = 1) < 3
    BEGIN
        WAITFOR DELAY '00:00:01';
    END;
    IF @window = 3
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
CREATE OR ALTER PROCEDURE [audit].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit,               /* 1: its time has come. 0: the dialog has ended, drop its row */
    @waitMs int = 0                     /* how long to queue up for the row with its senders; 0: not at all */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = none */
/* Recycles one dialog: takes R, then G, as usp_Send does. It waits for R only
   when told to, a bounded time and holding nothing, and for N not at all: nobody can wait for it then (F-127).
   Deleting the row is the right to send EndOfStream, so it is sent once (F-128).
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error, 3 no row leads to the
   dialog (any more): nothing was done. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* no savepoints here: any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @conversationKey nvarchar(200);
    DECLARE @taken int = 0;
    DECLARE @lockTimeout int = @@LOCK_TIMEOUT;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  The proof needs empty hands: no lock may be held on entry                                */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT <> 0
        THROW 50120, N'usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 2  Handle to key, holding nothing                                                     */
            /* ------------------------------------------------------------------------------------ */
            SET @conversationKey = NULL;
            SET @taken = 0;
            SELECT @conversationKey = sc.ConversationKey
            FROM [audit].[SessionConversations] AS sc
                /* A read of the Handle index by a short lock, which does not stay. NOWAIT: a sender
                   in a long transaction may be writing this entry, and a queue reader must not wait
                   for it. READCOMMITTEDLOCK: by locks under READ_COMMITTED_SNAPSHOT too, where a
                   row version would call an entry that is just being written gone (F-375). */
                WITH (NOWAIT, READCOMMITTEDLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ------------------------------------------------------------------------------------ */
            /* 3  R, then G                                                                          */
            /* ------------------------------------------------------------------------------------ */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;

                SET LOCK_TIMEOUT @waitMs;       /* for R and no other wait; 0 is NOWAIT (F-132) */

                -- window 3 waits here until steps 16 to 21 are done in window 1, then does steps 22 to 25
                EXECUTE explorer.Stop @place = N'p1';
                DELETE sc
                FROM [audit].[SessionConversations] AS sc
                    /* INDEX, FORCESEEK: locks the clustered key first, the Handle entry after it. By
                       Handle it would be the other way round and deadlock with a sender (F-120).
                       A busy row is in use by a sender; its next visitor asks again.
                       ROWLOCK: one row. Handle is checked again, under the lock. */
                    WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                WHERE sc.ConfigId = 1
                  AND sc.ConversationKey = @conversationKey
                  AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;

                SET LOCK_TIMEOUT @lockTimeout;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;

                COMMIT TRANSACTION;
            END;

            RETURN CASE WHEN @taken = 1 THEN 0 ELSE 3 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            SET LOCK_TIMEOUT @lockTimeout;

            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* The dialog is dead, so nobody can or need be told: delete the row and stop. */
            IF ERROR_NUMBER() IN (8426, 8429) AND @sendEndOfStream = 1
                SET @sendEndOfStream = 0;
            ELSE
            BEGIN
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_RecycleConversation', @handle = @handle;
                RETURN 2;
            END;
        END CATCH;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = none */
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
            SELECT @handle = sc.Handle
            FROM [audit].[SessionConversations] AS sc
                /* For comparison only. No hint: the lock ends with this statement, and a message can
                   follow EndOfStream (F-123). */
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
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
        -- window 1 waits here until steps 22 to 25 are done in window 3, then does steps 26 to 32
        EXECUTE explorer.Stop @place = N'p2';
        IF EXISTS (SELECT 1
                   FROM [audit].[Gate] AS g
                       WITH (FORCESEEK)     /* its one row; a plain read of what is committed */
                   WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ------------------------------------------------------------------------------------- */
        /* 4  A look at the state keeps dead handles rare. NULL (not visible, or gone) is left to     */
        /*    SEND: taking it for dead could begin a dialog per message                              */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)   /* whether a plain read waits for an END is unknown; we hold R (F-126) */
            WHERE ce.conversation_handle = @handle;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 5  First use, or a dialog of no more use: begin one in the same row                      */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
        BEGIN
            EXECUTE [audit].[usp_BeginConversation]
                @conversationKey = @conversationKey,
                @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction,
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
-- -------- steps 16 to 21: sender A: usp_AcquireConversation line 34: SELECT @handle = sc.Handle
-- FROM [audit].[SessionConversations] AS sc /* For comparison onl
EXECUTE explorer.Turn @turn = 2;
GO
-- sender A:
-- [client 0 batch 0]
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA1;
GO
EXECUTE explorer.Turn @turn = 6;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================== WINDOW 2 ========================================
-- operator: target ends
USE [Redial];
GO
EXECUTE explorer.Enter @window = 2;
GO
EXECUTE explorer.Ready @window = 2;
GO
EXECUTE explorer.Turn @turn = 6;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================== WINDOW 3 ========================================
-- activation by hand: InitiatorQueue, TargetQueue
USE [Redial];
GO
EXECUTE explorer.Enter @window = 3;
GO
EXECUTE explorer.Ready @window = 3;
GO
-- -------- steps 2 to 15: reader of InitiatorQueue: usp_SenderActivation line 36: RECEIVE TOP (1)
-- @handle = conversation_handle, @messageType = message_type_name, @sequence
EXECUTE explorer.Turn @turn = 1;
GO
-- reader of InitiatorQueue, by hand:
-- [reader s3]
EXECUTE [audit].[usp_SenderActivation];
GO
-- -------- step 33: reader of TargetQueue: usp_TargetActivation line 57: RECEIVE TOP (500)
-- queuing_order, conversation_handle, message_sequence_number, message_typ
EXECUTE explorer.Turn @turn = 5;
GO
-- reader of TargetQueue, by hand:
-- [reader s4]
EXECUTE [audit].[usp_TargetActivation];
GO
EXECUTE explorer.Turn @turn = 6;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================= CLEAN-UP ========================================
USE [Redial];
GO
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit,               /* 1: its time has come. 0: the dialog has ended, drop its row */
    @waitMs int = 0                     /* how long to queue up for the row with its senders; 0: not at all */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = none */
/* Recycles one dialog: takes R, then G, as usp_Send does. It waits for R only
   when told to, a bounded time and holding nothing, and for N not at all: nobody can wait for it then (F-127).
   Deleting the row is the right to send EndOfStream, so it is sent once (F-128).
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error, 3 no row leads to the
   dialog (any more): nothing was done. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* no savepoints here: any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @conversationKey nvarchar(200);
    DECLARE @taken int = 0;
    DECLARE @lockTimeout int = @@LOCK_TIMEOUT;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  The proof needs empty hands: no lock may be held on entry                                */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT <> 0
        THROW 50120, N'usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 2  Handle to key, holding nothing                                                     */
            /* ------------------------------------------------------------------------------------ */
            SET @conversationKey = NULL;
            SET @taken = 0;
            SELECT @conversationKey = sc.ConversationKey
            FROM [audit].[SessionConversations] AS sc
                /* A read of the Handle index by a short lock, which does not stay. NOWAIT: a sender
                   in a long transaction may be writing this entry, and a queue reader must not wait
                   for it. READCOMMITTEDLOCK: by locks under READ_COMMITTED_SNAPSHOT too, where a
                   row version would call an entry that is just being written gone (F-375). */
                WITH (NOWAIT, READCOMMITTEDLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ------------------------------------------------------------------------------------ */
            /* 3  R, then G                                                                          */
            /* ------------------------------------------------------------------------------------ */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;

                SET LOCK_TIMEOUT @waitMs;       /* for R and no other wait; 0 is NOWAIT (F-132) */

                DELETE sc
                FROM [audit].[SessionConversations] AS sc
                    /* INDEX, FORCESEEK: locks the clustered key first, the Handle entry after it. By
                       Handle it would be the other way round and deadlock with a sender (F-120).
                       A busy row is in use by a sender; its next visitor asks again.
                       ROWLOCK: one row. Handle is checked again, under the lock. */
                    WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                WHERE sc.ConfigId = 1
                  AND sc.ConversationKey = @conversationKey
                  AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;

                SET LOCK_TIMEOUT @lockTimeout;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;

                COMMIT TRANSACTION;
            END;

            RETURN CASE WHEN @taken = 1 THEN 0 ELSE 3 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            SET LOCK_TIMEOUT @lockTimeout;

            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* The dialog is dead, so nobody can or need be told: delete the row and stop. */
            IF ERROR_NUMBER() IN (8426, 8429) AND @sendEndOfStream = 1
                SET @sendEndOfStream = 0;
            ELSE
            BEGIN
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_RecycleConversation', @handle = @handle;
                RETURN 2;
            END;
        END CATCH;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: lookup_hint = none */
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
            SELECT @handle = sc.Handle
            FROM [audit].[SessionConversations] AS sc
                /* For comparison only. No hint: the lock ends with this statement, and a message can
                   follow EndOfStream (F-123). */
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
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
        /* 4  A look at the state keeps dead handles rare. NULL (not visible, or gone) is left to     */
        /*    SEND: taking it for dead could begin a dialog per message                              */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)   /* whether a plain read waits for an END is unknown; we hold R (F-126) */
            WHERE ce.conversation_handle = @handle;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 5  First use, or a dialog of no more use: begin one in the same row                      */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
        BEGIN
            EXECUTE [audit].[usp_BeginConversation]
                @conversationKey = @conversationKey,
                @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction,
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
