-- S6 row of a dead dialog, played by 3 query windows
-- Played on the embedded broker by 3 sessions: meets S3 message from nowhere, so a server may not show 'S6 row of a dead dialog' by it either.
-- Scenario: spid never two_phase updlock rc transaction, one sender, the target ends its dialog at
-- any moment
-- Found on the embedded broker, which is not SQL Server. To replay it there: --replay
-- 51x2.target_ends:0.21x17.51x2@1f5b2f49
--
-- FOR A TEST DATABASE. Procedures are altered while this is played, and put back by CLEAN-UP.
-- 1. Run installation-3520d9555697.sql (the explorer's --out writes it beside this script): it
-- makes database Redial and what the scenario needs there. Be a member of db_owner. SHA-256 of that
-- file: 3520d95556977ff7f3c07965dc0073dadfc9902694330fe139c6b81305382b1a
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
-- * Search: S1 has nothing to say here: a session waited for a lock cannot be
-- * Search: S2 has nothing to say here: an EndOfStream was sent cannot be
-- * Search: S8 has nothing to say here: two messages were on one dialog cannot be
-- * Search: L1 has nothing to say here: a recycled dialog came to its end cannot be
-- * Search: L2 has nothing to say here: a transaction with messages was rolled back cannot be
--
-- Steps:
--   1. window 1: sender A: usp_Send line 81: SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
--      FROM [audit].[SessionConversations]
--   2. window 1: sender A: usp_Send line 94: IF @handle IS NULL OR @attempt > 1 OR NOT EXISTS
--      (SELECT 1 FROM sys.conversation_endpoints
--   3. nobody: operator (target_ends) begins (here: its turn has not come)
--   4. window 3: reader of InitiatorQueue: usp_SenderActivation line 40: RECEIVE TOP (1) @handle =
--      conversation_handle, @messageType = message_type_name, @sequence
--   5. window 3: reader of InitiatorQueue: usp_SenderActivation line 73: SELECT @attempts =
--      pa.Attempts FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) /* a sc
--   6. window 3: reader of InitiatorQueue: usp_EndInitiator line 25: SELECT @copies = COUNT(*) FROM
--      (SELECT TOP (100001) sm.MessageSequence FROM sys.conversati
--   7. window 3: reader of InitiatorQueue: usp_ResendPending line 38: IF NOT EXISTS (SELECT 1 FROM
--      sys.conversation_endpoints AS ce WITH (NOLOCK) /* waits for n
--   8. window 3: reader of InitiatorQueue: usp_ResendPending line 54: SELECT @state = ce.state FROM
--      sys.conversation_endpoints AS ce WITH (NOLOCK) /* as above *
--   9. window 3: reader of InitiatorQueue: usp_ResendPending line 72: SELECT @conversationId =
--      ce.conversation_id, @state = ce.state, @sent = ce.send_sequence F
--  10. window 3: reader of InitiatorQueue: usp_ResendPending line 90: END CONVERSATION @handle
--  11. window 3: reader of InitiatorQueue: usp_MoveCopies line 44: IF @code >= 0 AND NOT EXISTS
--      (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORC
--  12. window 3: reader of InitiatorQueue: usp_ResendPending line 109: UPDATE cl SET EndedUtc =
--      SYSUTCDATETIME(), Messages = ISNULL(cl.Messages, @sent), Resent =
--  13. window 3: reader of InitiatorQueue: usp_ResendPending line 120: DELETE pa FROM
--      [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK) /* a scan would wai
--  14. window 3: reader of InitiatorQueue: usp_SenderActivation line 105: COMMIT TRANSACTION
--  15. window 3: reader of InitiatorQueue: usp_RecycleConversation line 36: SELECT @conversationKey
--      = sc.ConversationKey FROM [audit].[SessionConversations] AS sc /*
--  16. window 3: reader of InitiatorQueue: usp_RecycleConversation line 54: DELETE sc FROM
--      [audit].[SessionConversations] AS sc /* INDEX, FORCESEEK: locks the cluster
--  17. window 3: reader of InitiatorQueue: usp_RecycleConversation line 78: ROLLBACK TRANSACTION
--  18. window 3: reader of InitiatorQueue: usp_SenderActivation line 40: RECEIVE TOP (1) @handle =
--      conversation_handle, @messageType = message_type_name, @sequence
--  19. window 3: reader of InitiatorQueue: usp_SenderActivation line 49: COMMIT TRANSACTION
--  20. window 3: reader of InitiatorQueue: usp_SenderActivation line 53: IF EXISTS (SELECT 1 FROM
--      [audit].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSeque
--  21. window 1: sender A: usp_Send line 121: SEND ON CONVERSATION @handle MESSAGE TYPE
--      @messageType (@messageBody)
--  22. window 1: sender A: batch line 1: IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION
-- => S6 row of a dead dialog


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
        (1, N'steps 1 to 2', 0),
        (2, N'steps 4 to 20', 0),
        (3, N'steps 21 to 22', 0)
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
        FROM (VALUES (1, 1), (2, 3), (3, 1)) AS t (Turn, QueryWindow)
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
    IF @window = 1
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
/* Redial 0.1.0, configuration audit */
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
                /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the
                   caller's SEND commits; S locks would deadlock on conversion (F-122).
                   ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
                   at every other session's row (F-121). Proved by the explorer: without UPDLOCK the
                   message after EndOfStream is found. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
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
                -- window 1 waits here until steps 4 to 20 are done in window 3, then does steps 21 to 22
                EXECUTE explorer.Stop @place = N'p1';
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);
            END;

            /* -- 2.4  What belongs to the message. ON: if any of it fails, a caller who goes on after our
                       error can only roll back, and no message is committed without it (F-460) --- */
            SET XACT_ABORT ON;
            UPDATE sc
            SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here (F-464) */
            OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @messageBody
            INTO [audit].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
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
-- sender A, before the first step:
BEGIN TRANSACTION; EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA0; COMMIT TRANSACTION;
GO
EXECUTE explorer.Ready @window = 1;
GO
-- -------- steps 1 to 2: sender A: usp_Send line 81: SELECT @handle = sc.Handle, @sentBy =
-- sc.TransactionId FROM [audit].[SessionConversations]
EXECUTE explorer.Turn @turn = 1;
GO
-- sender A:
-- [client 0 batch 0]
BEGIN TRANSACTION; EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA1; COMMIT TRANSACTION;
GO
-- sender A:
-- [client 0 tidies up]
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
GO
EXECUTE explorer.Turn @turn = 4;
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
EXECUTE explorer.Turn @turn = 4;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================== WINDOW 3 ========================================
-- activation by hand: InitiatorQueue
USE [Redial];
GO
EXECUTE explorer.Enter @window = 3;
GO
EXECUTE explorer.Ready @window = 3;
GO
-- -------- steps 4 to 20: reader of InitiatorQueue: usp_SenderActivation line 40: RECEIVE TOP (1)
-- @handle = conversation_handle, @messageType = message_type_name, @sequence
EXECUTE explorer.Turn @turn = 2;
GO
-- reader of InitiatorQueue, by hand:
-- [reader s3]
EXECUTE [audit].[usp_SenderActivation];
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
/* Redial 0.1.0, configuration audit */
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
                /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the
                   caller's SEND commits; S locks would deadlock on conversion (F-122).
                   ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
                   at every other session's row (F-121). Proved by the explorer: without UPDLOCK the
                   message after EndOfStream is found. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
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
            OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @messageBody
            INTO [audit].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
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
