-- S2 message after EndOfStream, played by 2 query windows
-- Played on the embedded broker by 2 sessions: meets 'S2 message after EndOfStream'.
-- Scenario: spid timer article_holdlock rc autocommit, senders 1
-- Found on the embedded broker, which is not SQL Server. To replay it there: --replay
-- 51.timer:0.21x4.51.22.21x6@c892b60c
--
-- FOR A TEST DATABASE. Procedures are altered while this is played, and put back by CLEAN-UP.
-- 1. Run installation-f1b98613f9d1.sql (the explorer's --out writes it beside this script): it
-- makes database Redial and what the scenario needs there. Be a member of db_owner. SHA-256 of that
-- file: f1b98613f9d1b3140498f53835bc69d62e69e3613c9d151b887e0c78d07b04ee
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
-- * Search: S8 has nothing to say here: two messages were on one dialog cannot be
-- * Search: L2 has nothing to say here: a transaction with messages was rolled back cannot be
--
-- Steps:
--   1. window 1: sender A: usp_Send line 26: SELECT @handle = Handle FROM
--      [audit].[SessionConversations] WITH (HOLDLOCK) WHERE SPID = @
--   2. server: a timer fires (ssb.timer): explorer.Ready lets it, before the first step of a window
--   3. window 2: reader of InitiatorQueue: usp_SenderActivation line 19: RECEIVE TOP (1) @handle =
--      conversation_handle, @messageTypeName = message_type_name, @mess
--   4. window 2: reader of InitiatorQueue: usp_SenderActivation line 27: DELETE FROM
--      [audit].[SessionConversations] WHERE Handle = @handle
--   5. window 2: reader of InitiatorQueue: usp_SenderActivation line 32: SEND ON CONVERSATION
--      @handle MESSAGE TYPE [EndOfStream]
--   6. window 2: reader of InitiatorQueue: usp_SenderActivation line 54: COMMIT TRANSACTION
--   7. window 1: sender A: usp_Send line 50: SEND ON CONVERSATION @handle MESSAGE TYPE @messageType
--      (@messageBody)
--   8. window 2: reader of TargetQueue: usp_TargetActivation line 33: SELECT @until =
--      DATEADD(minute, 10, SYSUTCDATETIME()), @careful = CASE WHEN EXISTS (SELECT
--   9. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 19: RECEIVE TOP (1)
--      @handle = conversation_handle, @messageTypeName = message_type_name, @mess
--  10. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 27: DELETE FROM
--      [audit].[SessionConversations] WHERE Handle = @handle
--  11. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 36: END CONVERSATION
--      @handle
--  12. window 2: reader of InitiatorQueue (2): usp_SenderActivation line 54: COMMIT TRANSACTION
--  13. window 2: reader of InitiatorQueue (3): usp_SenderActivation line 19: RECEIVE TOP (1)
--      @handle = conversation_handle, @messageTypeName = message_type_name, @mess
--  14. window 2: reader of InitiatorQueue (3): usp_SenderActivation line 54: COMMIT TRANSACTION
-- => S2 message after EndOfStream


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
        (2, N'steps 3 to 6', 0),
        (3, N'step 7', 0),
        (4, N'steps 8 to 14', 0)
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
        FROM (VALUES (1, 1), (2, 2), (3, 1), (4, 2)) AS t (Turn, QueryWindow)
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
CREATE OR ALTER PROCEDURE [audit].[usp_Send]
    @fromService sysname,
    @toService sysname,
    @onContract sysname,
    @messageType sysname,
    @messageBody varbinary(max),
    @key nvarchar(200) = NULL,          /* ours: the frozen interface; the article has neither */
    @messageId uniqueidentifier = NULL
WITH EXECUTE AS N'audit_module'  /* ours: same principal as what it is compared with */
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: seed 000, the hint of its first edition. Not for use. */
/* The article's send procedure. Cut in the text we have, and restored here: the header and these
   declarations, the SPID comparison, the heads and tails of BEGIN DIALOG, TIMER, INSERT and SEND, the
   BREAKs. The text shows no transaction, and none is added: that is the second fault it is known for. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @handle uniqueidentifier;
    DECLARE @error int;
    DECLARE @counter int;

    SELECT @counter = 1;

    WHILE (1 = 1)
    BEGIN
        SELECT @handle = Handle
        FROM [audit].[SessionConversations] WITH (HOLDLOCK)
        WHERE SPID = @@SPID
          AND FromService = @fromService
          AND ToService = @toService
          AND OnContract = @onContract;

        IF @handle IS NULL
        BEGIN
            BEGIN DIALOG CONVERSATION @handle
                FROM SERVICE @fromService
                TO SERVICE @toService
                ON CONTRACT @onContract
                WITH ENCRYPTION = OFF;

            /* The article says an hour; the age is this configuration's, to compare like with like. */
            BEGIN CONVERSATION TIMER (@handle) TIMEOUT = 3600;

            INSERT INTO [audit].[SessionConversations]
                (SPID, FromService, ToService, OnContract, Handle)
            VALUES
                (@@SPID, @fromService, @toService, @onContract, @handle);
        END;

        -- window 1 waits here until steps 3 to 6 are done in window 2, then does step 7
        EXECUTE explorer.Stop @place = N'p1';
        SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);

        SELECT @error = @@ERROR;

        IF @error = 0
        BEGIN
            BREAK;
        END;

        SELECT @counter = @counter + 1;

        IF @counter > 10
        BEGIN
            RAISERROR (N'Failed to SEND on a conversation for more than 10 times. Error %i.', 16, 1, @error) WITH LOG;
            BREAK;
        END;

        DELETE FROM [audit].[SessionConversations]
        WHERE Handle = @handle;

        SELECT @handle = NULL;
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
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA0;
GO
EXECUTE explorer.Ready @window = 1;
GO
-- -------- step 1: sender A: usp_Send line 26: SELECT @handle = Handle FROM
-- [audit].[SessionConversations] WITH (HOLDLOCK) WHERE SPID = @
EXECUTE explorer.Turn @turn = 1;
GO
-- sender A:
-- [client 0 batch 0]
EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', N'//redial/audit/contract', N'//redial/audit/event', 0xA1;
GO
EXECUTE explorer.Turn @turn = 5;
GO
EXECUTE sys.sp_set_session_context @key = N'explorer window', @value = NULL;
GO


-- ======================================== WINDOW 2 ========================================
-- activation by hand: InitiatorQueue, TargetQueue
USE [Redial];
GO
EXECUTE explorer.Enter @window = 2;
GO
EXECUTE explorer.Ready @window = 2;
GO
-- -------- steps 3 to 6: reader of InitiatorQueue: usp_SenderActivation line 19: RECEIVE TOP (1)
-- @handle = conversation_handle, @messageTypeName = message_type_name, @mess
EXECUTE explorer.Turn @turn = 2;
GO
-- reader of InitiatorQueue, by hand:
-- [reader s2]
EXECUTE [audit].[usp_SenderActivation];
GO
-- -------- steps 8 to 14: reader of TargetQueue: usp_TargetActivation line 33: SELECT @until =
-- DATEADD(minute, 10, SYSUTCDATETIME()), @careful = CASE WHEN EXISTS (SELECT
EXECUTE explorer.Turn @turn = 4;
GO
-- reader of TargetQueue, by hand:
-- [reader s3]
EXECUTE [audit].[usp_TargetActivation];
GO
-- reader of InitiatorQueue (2), by hand:
-- [reader s4]
EXECUTE [audit].[usp_SenderActivation];
GO
-- reader of InitiatorQueue (3), by hand:
-- [reader s5]
EXECUTE [audit].[usp_SenderActivation];
GO
EXECUTE explorer.Turn @turn = 5;
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
    @messageBody varbinary(max),
    @key nvarchar(200) = NULL,          /* ours: the frozen interface; the article has neither */
    @messageId uniqueidentifier = NULL
WITH EXECUTE AS N'audit_module'  /* ours: same principal as what it is compared with */
AS
/* Redial 0.1.0, configuration audit, COMPARISON ONLY: seed 000, the hint of its first edition. Not for use. */
/* The article's send procedure. Cut in the text we have, and restored here: the header and these
   declarations, the SPID comparison, the heads and tails of BEGIN DIALOG, TIMER, INSERT and SEND, the
   BREAKs. The text shows no transaction, and none is added: that is the second fault it is known for. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @handle uniqueidentifier;
    DECLARE @error int;
    DECLARE @counter int;

    SELECT @counter = 1;

    WHILE (1 = 1)
    BEGIN
        SELECT @handle = Handle
        FROM [audit].[SessionConversations] WITH (HOLDLOCK)
        WHERE SPID = @@SPID
          AND FromService = @fromService
          AND ToService = @toService
          AND OnContract = @onContract;

        IF @handle IS NULL
        BEGIN
            BEGIN DIALOG CONVERSATION @handle
                FROM SERVICE @fromService
                TO SERVICE @toService
                ON CONTRACT @onContract
                WITH ENCRYPTION = OFF;

            /* The article says an hour; the age is this configuration's, to compare like with like. */
            BEGIN CONVERSATION TIMER (@handle) TIMEOUT = 3600;

            INSERT INTO [audit].[SessionConversations]
                (SPID, FromService, ToService, OnContract, Handle)
            VALUES
                (@@SPID, @fromService, @toService, @onContract, @handle);
        END;

        SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);

        SELECT @error = @@ERROR;

        IF @error = 0
        BEGIN
            BREAK;
        END;

        SELECT @counter = @counter + 1;

        IF @counter > 10
        BEGIN
            RAISERROR (N'Failed to SEND on a conversation for more than 10 times. Error %i.', 16, 1, @error) WITH LOG;
            BREAK;
        END;

        DELETE FROM [audit].[SessionConversations]
        WHERE Handle = @handle;

        SELECT @handle = NULL;
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
