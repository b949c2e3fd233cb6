/* Redial 0.1.0, configuration orders: 5_operate.sql, what an operator calls. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'5_operate.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'875254cfeddf0a5b [4-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'4_monitor.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 5_operate.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What usp_RetireIdle saw: how far each dialog had come, and since when it has not moved. So that no
   send has to write down when it was: the server counts a dialog's messages anyway. Only
   usp_RetireIdle reads and writes it. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[IdleWatch]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[IdleWatch]
    (
        Handle uniqueidentifier NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NOT NULL CONSTRAINT [DF_IdleWatch_SinceUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_IdleWatch] PRIMARY KEY CLUSTERED (Handle)
    );
    EXECUTE [orders].[usp_Mark] N'TABLE', N'IdleWatch';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [orders].[ufn_DeadLetters](
    @inUse bit,                         /* 0: those nobody is at work on; 1: all, as they are this moment */
    @firstId bigint,
    @lastId bigint,
    @code int,                          /* this and the rest: the filter; NULL: any */
    @messageType nvarchar(256),
    @reasonLike nvarchar(3000),
    @key nvarchar(200),
    @conversation uniqueidentifier,
    @fromUtc datetime2(3),
    @toUtc datetime2(3)
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration orders */
/* Dead letters a filter is about, handled or not, for usp_ReplayDeadLetter and usp_MarkDeadLetter. READPAST: a letter
   that is just being written, replayed or marked is somebody's; activation never waits for us, and we not for it.
   Who wants to know how many those are asks for all, which reads what is not committed.
   FirstId: the first letter of the same key (without a number: of the same conversation). What goes on goes by FirstId, KeySequence,
   MessageSequence, DeadLetterId: each key's in the order of its numbers, whatever dialogs they came on. */
RETURN
(
    SELECT
        dl.DeadLetterId, dl.HandledUtc, dl.Side, dl.ConversationId, dl.ConversationHandle, dl.MessageSequence,
        ISNULL(dl.MessageType, N'') AS MessageType, DATALENGTH(dl.Body) AS BodyBytes,
        e.KeySequence,
        MIN(dl.DeadLetterId) OVER (PARTITION BY CASE WHEN e.KeySequence IS NULL THEN dl.ConversationHandle END,
            CASE WHEN e.KeySequence IS NOT NULL THEN e.ConversationKey END) AS FirstId
    FROM [orders].[DeadLetter] AS dl
        /* FORCESEEK: the range only. */
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
    CROSS APPLY [orders].[ufn_ReadEnvelope](SUBSTRING(dl.Body, 1, 1300)) AS e     -- noqa: AL05
    WHERE @inUse = 0
      AND dl.DeadLetterId BETWEEN @firstId AND @lastId
      AND (@code IS NULL OR ISNULL(dl.Code, 0) = @code)
      AND (@messageType IS NULL OR ISNULL(dl.MessageType, N'') = @messageType)
      AND (@reasonLike IS NULL OR ISNULL(dl.Reason, N'') LIKE @reasonLike)
      AND (@conversation IS NULL OR dl.ConversationId = @conversation OR dl.ConversationHandle = @conversation)
      AND (@fromUtc IS NULL OR dl.AddedUtc >= @fromUtc)
      AND (@toUtc IS NULL OR dl.AddedUtc < @toUtc)
      AND (@key IS NULL OR e.ConversationKey = @key)
    UNION ALL
    SELECT
        dl.DeadLetterId, dl.HandledUtc, dl.Side, dl.ConversationId, dl.ConversationHandle, dl.MessageSequence,
        ISNULL(dl.MessageType, N''), DATALENGTH(dl.Body), NULL, NULL
    FROM [orders].[DeadLetter] AS dl WITH (NOLOCK)
    CROSS APPLY [orders].[ufn_ReadEnvelope](SUBSTRING(dl.Body, 1, 1300)) AS e     -- noqa: AL05
    WHERE @inUse = 1
      AND dl.DeadLetterId BETWEEN @firstId AND @lastId
      AND (@code IS NULL OR ISNULL(dl.Code, 0) = @code)
      AND (@messageType IS NULL OR ISNULL(dl.MessageType, N'') = @messageType)
      AND (@reasonLike IS NULL OR ISNULL(dl.Reason, N'') LIKE @reasonLike)
      AND (@conversation IS NULL OR dl.ConversationId = @conversation OR dl.ConversationHandle = @conversation)
      AND (@fromUtc IS NULL OR dl.AddedUtc >= @fromUtc)
      AND (@toUtc IS NULL OR dl.AddedUtc < @toUtc)
      AND (@key IS NULL OR e.ConversationKey = @key)
);
GO
CREATE OR ALTER PROCEDURE [orders].[usp_OpenGate]
    @reason nvarchar(400) = NULL,       /* why the gate opens: kept in Gate and OperatorLog; required */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Opens the gate that usp_Drain closed: usp_Send sends again. Not one that a deployment has closed and
   not opened (50162). Result set: none. Returns 0. */
BEGIN
    SET NOCOUNT ON;

    IF @Help = 1
    BEGIN
        PRINT N'usp_OpenGate opens the gate that usp_Drain closed, so that usp_Send sends again.
  @reason   why; required; kept with your login in Gate and OperatorLog
  @Debug    1: print each step
Example: EXECUTE [orders].[usp_OpenGate] @reason = N''maintenance is over'';';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50161, N'usp_OpenGate must be called outside a transaction: senders read the gate and would wait for its end.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        THROW 50160, N'@reason must say why, in 1 to 400 characters.', 1;

    BEGIN TRANSACTION;

    UPDATE g
    SET IsOpen = 1,
        ChangedUtc = SYSUTCDATETIME(),
        ChangedBy = ORIGINAL_LOGIN(),
        Reason = @reason
    FROM [orders].[Gate] AS g
        WITH (ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)    /* the one row of this configuration */
    WHERE g.ConfigId = 1;

    /* Asked while the gate's row is ours. 29_change closes it, and 93_settings takes the mark away. */
    IF EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate')
    BEGIN
        ROLLBACK TRANSACTION;           /* a caller's CATCH gets no transaction of ours to end */
        THROW 50162, N'A deployment has closed the gate and has not come to its end: procedures of two choices may be mixed, and the gate stays closed. Next: deploy to the end, with the old choices or the new; it opens the gate.', 1;
    END;

    INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
    VALUES (N'open gate', N'configuration orders', @reason);

    COMMIT TRANSACTION;

    IF @Debug = 1
        PRINT N'The gate is open.';

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_CloseDialogs]
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @passes int OUTPUT,
    @recycled bigint OUTPUT,            /* dialogs closed: EndOfStream was sent, or they were dead */
    @left bigint OUTPUT,                /* dialogs senders could still use; NULL: one is busy */
    @Debug bit = 0                      /* 1: print each pass */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Closes every dialog that senders use, for usp_Drain, with the gate closed and committed. Called outside
   a transaction; waits for no single lock longer than a second. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    DECLARE @dialogs TABLE (DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Handle uniqueidentifier NOT NULL);
    DECLARE @id int, @handle uniqueidentifier, @result int;

    SELECT @passes = 0, @recycled = 0, @left = NULL;
    WHILE 1 = 1
    BEGIN
        SET @passes = @passes + 1;

        /* A list of whom to visit, no decision: NOLOCK waits for nobody, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration's rows only. No cursor: each visit commits,
           and CURSOR_CLOSE_ON_COMMIT may be on. */
        DELETE FROM @dialogs;
        INSERT INTO @dialogs (Handle)
        SELECT sc.Handle
        FROM [orders].[SessionConversations] AS sc
            WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1;

        WHILE EXISTS (SELECT 1 FROM @dialogs)
        BEGIN
            SELECT TOP (1) @id = d.DialogId, @handle = d.Handle FROM @dialogs AS d ORDER BY d.DialogId;
            DELETE FROM @dialogs WHERE DialogId = @id;

            /* NOWAIT inside: a busy row is left to the next pass. */
            EXECUTE @result = [orders].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;
            IF @result = 0
                SET @recycled = @recycled + 1;
        END;

        /* The look that decides, with locks: a sender that read the gate open has inserted or locked
           its row before, and is met here. READPAST would miss it, NOLOCK would count what rolls back.
           UPDLOCK: the lock of a sender that has only looked its row up is a U lock, which a plain
           read passes. NOWAIT: error 1222 instead of a wait. All rows, no filter that
           could be tried before the lock is. */
        SET @left = NULL;
        BEGIN TRY
            SELECT @left = ISNULL(SUM(1), 0)
            FROM [orders].[SessionConversations] AS sc
                /* lint: allow SB09: a look at who is at work, which shall keep nothing */
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

        IF @left = 0 OR SYSUTCDATETIME() >= @deadline
            RETURN 0;
        WAITFOR DELAY '00:00:00.100';
    END;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_CloseGate]
    @reason nvarchar(400),
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @mark nvarchar(60) = NULL,          /* of a deployment that closes it: 93_settings opens it again */
    @closed bit OUTPUT,                 /* 0: senders held the gate until the deadline; it is still open */
    @wasOpen bit OUTPUT                 /* 0: it was closed before, and not by this mark */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Closes and commits the gate, for usp_Drain. Called outside a transaction.
   Senders read the gate only in passing here, so this is soon done.
   NOWAIT: a request that queues would have every new sender wait behind it; so it asks again instead,
   and while it waits it holds nothing (F-175). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @before TABLE (IsOpen bit NOT NULL);

    SET @closed = 0;
    SET @wasOpen = 0;
    WHILE @closed = 0
    BEGIN
        BEGIN TRY
            DELETE FROM @before;
            BEGIN TRANSACTION;

            UPDATE g
            SET IsOpen = 0,             /* closed already: who has closed it, and why, stays */
                ChangedUtc = CASE WHEN g.IsOpen = 1 THEN SYSUTCDATETIME() ELSE g.ChangedUtc END,
                ChangedBy = CASE WHEN g.IsOpen = 1 THEN ORIGINAL_LOGIN() ELSE g.ChangedBy END,
                Reason = CASE WHEN g.IsOpen = 1 THEN @reason ELSE g.Reason END
            OUTPUT DELETED.IsOpen INTO @before (IsOpen)
            FROM [orders].[Gate] AS g
                WITH (ROWLOCK, NOWAIT, INDEX ([PK_Gate]), FORCESEEK)    /* NOWAIT: see above */
            WHERE g.ConfigId = 1;

            /* Somebody removed the row, and a gate without a row is open. */
            IF NOT EXISTS (SELECT 1 FROM @before)
                INSERT INTO [orders].[Gate] (ConfigId, IsOpen, Reason)
                OUTPUT 1 INTO @before (IsOpen)
                VALUES (1, 0, @reason);

            /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
            IF EXISTS (SELECT 1 FROM @before AS b WHERE b.IsOpen = 1)
            BEGIN
                SET @wasOpen = 1;
                IF @mark IS NOT NULL AND NOT EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate')
                    INSERT INTO [orders].[Setting] (Name, Value) VALUES (N'deployment.gate', @mark);
            END
            ELSE IF EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = @mark)
                SET @wasOpen = 1;       /* closed by an earlier try of the same deployment, which was stopped */

            INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
            VALUES (N'close gate', N'configuration orders', @reason);

            COMMIT TRANSACTION;
            SET @closed = 1;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 1222: a sender holds the gate; 1205: cannot be, but is as harmless. */
            IF ERROR_NUMBER() NOT IN (1205, 1222)
                THROW;
            IF SYSUTCDATETIME() >= @deadline
                RETURN 1;
        END CATCH;

        IF @closed = 0
            WAITFOR DELAY '00:00:00.050';
    END;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_EndLeakedOne]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @isInitiator bit,                   /* 1: of the side that sends, 0: of the target */
    @action nvarchar(30),               /* of ufn_Leaked */
    @WhatIf bit = 1,                    /* 1: only say what would be done */
    @outcome nvarchar(400) OUTPUT       /* NULL: done */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* lint: operator */
/* One line of usp_EndLeaked, looked at once more under locks. Called outside a transaction, has one of its
   own; raises what goes wrong. No read waits longer than the caller's LOCK_TIMEOUT.
   What only a member of db_owner may or sees is done as the caller: nothing of ours lends that right. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @copies bigint = 0;
    DECLARE @result int;
    DECLARE @isOwner bit;
    DECLARE @initiator uniqueidentifier = NULL;
    DECLARE @pending TABLE (MessageSequence bigint NOT NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL, ToService nvarchar(256) NULL);

    SET @outcome = CASE WHEN @WhatIf = 1 THEN CASE @action WHEN N'CLOSE' THEN N'would be closed' WHEN N'GIVE UP' THEN N'would be given up'
        WHEN N'END ALONE' THEN N'would be cleaned up' WHEN N'END WITH CLEANUP' THEN N'would be cleaned up' WHEN N'DELETE ROW' THEN N'would be deleted'
        WHEN N'FREE SLOT' THEN N'would be freed' ELSE N'would be ended' END END;

    EXECUTE AS CALLER;
    SET @isOwner = CASE WHEN USER_ID() = 1 THEN 1 ELSE ISNULL(IS_MEMBER(N'db_owner'), 0) END;   /* the page of IS_MEMBER says 0 for dbo */
    REVERT;

    IF @action = N'END ALONE'
    BEGIN
        SELECT @initiator = cl.Handle
        FROM [orders].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)   /* written once */
        WHERE cl.ConversationId = @conversationId;
        IF @initiator IS NULL                      /* its row was deleted by hand */
            SELECT @initiator = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
    END;

    BEGIN TRANSACTION;

    IF @action IN (N'END', N'END ALONE')
    BEGIN
        /* Nothing new arrives on it: once nothing is unread, nothing will be. A plain read: it waits for
           a reader that holds the rows, and so is told the truth. */
        IF EXISTS (SELECT 1 FROM [orders].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
           OR EXISTS (SELECT 1 FROM [orders].[InitiatorQueue] AS q WHERE q.conversation_handle = @handle)
            SET @outcome = N'kept: unread messages are left; its activation handles them';
        ELSE IF (@isInitiator = 1 OR @action = N'END ALONE')
                AND EXISTS (SELECT 1 FROM [orders].[SentMessage] AS sm WITH (FORCESEEK) WHERE sm.ConversationId = @conversationId)    /* its rows only */
            SET @outcome = CASE @action WHEN N'END' THEN N'kept: messages have not landed; call usp_Resend with its @handle'
                                        ELSE N'kept: messages have not landed; call usp_Resend, which ends it' END;
        ELSE IF @action = N'END ALONE'
                AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS i WHERE i.conversation_handle = @initiator)     /* may wait, holding nothing (F-126) */
            SET @outcome = N'kept: its sender''s side is there';
        ELSE IF @outcome IS NULL AND @action = N'END'
            END CONVERSATION @handle;
        /* WITH CLEANUP: there is nobody an EndDialog could reach. */
        ELSE IF @outcome IS NULL
            END CONVERSATION @handle WITH CLEANUP;
    END
    ELSE IF @action = N'END WITH CLEANUP' AND @outcome IS NULL AND @isOwner = 0
        SET @outcome = CONCAT(N'kept: only a member of db_owner cleans up what is CLOSED (28006), and you are none. Next: one calls usp_EndLeaked, or runs END CONVERSATION ''', @handle, N''' WITH CLEANUP; it keeps nothing from being sent');
    ELSE IF @action = N'END WITH CLEANUP' AND @outcome IS NULL
    BEGIN
        EXECUTE AS CALLER;
        END CONVERSATION @handle WITH CLEANUP;
        REVERT;
    END
    ELSE IF @action = N'GIVE UP'
    BEGIN
        /* All of a dialog goes in one transaction: a very large one wants somebody who has looked at the
           log first. Nobody sends behind EndOfStream: there will not be more. */
        SELECT @copies = COUNT(*)
        FROM (SELECT TOP (100001) sm.MessageSequence
              FROM [orders].[SentMessage] AS sm
                  WITH (NOLOCK, FORCESEEK)      /* a size, no decision on a row */
              WHERE sm.ConversationId = @conversationId) AS p;
        IF @copies > 100000
            SET @outcome = CONCAT(N'kept: more than 100000 messages have not landed. Next: see that there is room in the log for about three times their bytes; then EXECUTE ', N'[orders].[usp_Resend]', N' @handle = ''', @handle, N''', @most = 2000000000, @reason = N''usp_EndLeaked'', @WhatIf = 0;');
        /* The list was read with NOLOCK, to which an end that is not committed looks like one. So once
           more by a read that may wait, holding nothing (F-126). */
        ELSE IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS t
                        WHERE t.conversation_id = @conversationId AND t.is_initiator = 0 AND t.state <> 'CD')
            SET @outcome = N'kept: its target is there';
        /* Takes G, so that whoever is just ending this dialog has committed; then all of it again. */
        IF @outcome IS NULL
            EXECUTE [orders].[usp_ArmTimer] @handle = @handle, @seconds = 30;
        IF @outcome IS NULL
           AND NOT EXISTS (SELECT 1
                           FROM sys.conversation_endpoints AS ce
                               WITH (NOLOCK)    /* our own endpoint, under G (F-126) */
                           INNER JOIN [orders].[ConversationLog] AS cl
                               WITH (FORCESEEK)     /* this dialog's row only, under G (F-127) */
                               ON cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL
                           WHERE ce.conversation_handle = @handle AND ce.state = 'CO' AND GET_TRANSMISSION_STATUS(@handle) = N''
                             AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS t WITH (NOLOCK)     /* as above */
                                             WHERE t.conversation_id = @conversationId AND t.is_initiator = 0 AND t.state <> 'CD'))
            SET @outcome = N'kept: it has ended or failed meanwhile, is in use, or its target is there';
        IF @outcome IS NULL
            EXECUTE @result = [orders].[usp_ResendPending] @handle = @handle, @code = 0,
                @description = N'Given up by usp_EndLeaked: the target was gone.';
        IF @outcome IS NULL AND @result <> 0
            SET @outcome = N'kept: a reader is at work on it';
    END
    ELSE IF @action IN (N'END UNUSED', N'CLOSE', N'END UNREACHABLE') AND @outcome IS NULL
    BEGIN
        /* Takes G, so that a sender that just begins or closes this dialog has committed. */
        EXECUTE [orders].[usp_ArmTimer] @handle = @handle, @seconds = 30;
        IF @action <> N'END UNREACHABLE'
           AND EXISTS (SELECT 1 FROM [orders].[ConversationLog] AS cl
                           WITH (FORCESEEK)     /* this dialog's row only, under G (F-127) */
                       WHERE cl.Handle = @handle AND cl.EndOfStreamUtc IS NOT NULL)
            SET @outcome = N'kept: it is closing now';
        IF EXISTS (SELECT 1
                   FROM [orders].[SessionConversations] AS sc
                       /* We hold G, and a sender that holds its row may want it: a wait here, or a
                          scan that meets that row, would close the circle. A busy entry fails (1222)
                          and is shown. */
                       WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                   WHERE sc.Handle = @handle)
            SET @outcome = N'kept: it is in use now';
        IF @outcome IS NULL AND @action = N'CLOSE'
        BEGIN
            EXECUTE [orders].[usp_SendEndOfStream] @handle = @handle;
            /* Of a dialog somebody began by hand: the next run knows that it is closing. */
            INSERT INTO [orders].[ConversationLog] (Handle, ConversationId, ConfigId, EndOfStreamUtc, Reason)
            SELECT @handle, @conversationId, 1, SYSUTCDATETIME(), N'Begun by nobody of ours; closed by usp_EndLeaked.'
            WHERE NOT EXISTS (SELECT 1 FROM [orders].[ConversationLog] AS cl WITH (FORCESEEK) WHERE cl.Handle = @handle);     /* as above */
        END
        ELSE IF @outcome IS NULL AND @action = N'END UNUSED'
            END CONVERSATION @handle;
        ELSE IF @outcome IS NULL
        BEGIN
            /* Nothing of it can arrive. What somebody sent on it by hand has no copy: it is kept as dead letters,
               which only who sees sys.transmission_queue can do (F-113). */
            IF @isOwner = 0
                SET @outcome = CONCAT(N'kept: messages that somebody sent on it by hand are seen by members of db_owner only, and you are none. Next: one calls usp_EndLeaked, or looks in sys.transmission_queue and runs END CONVERSATION ''', @handle, N''' WITH CLEANUP');
            ELSE
            BEGIN
                EXECUTE AS CALLER;
                INSERT INTO @pending (MessageSequence, MessageType, Body, ToService)
                SELECT tq.message_sequence_number, tq.message_type_name, tq.message_body, tq.to_service_name
                FROM sys.transmission_queue AS tq
                WHERE tq.conversation_handle = @handle AND tq.is_end_of_dialog = 0 AND tq.is_conversation_error = 0
                  AND tq.message_type_name COLLATE Latin1_General_BIN2 <> N'EndOfStream';
                REVERT;
                INSERT INTO [orders].[DeadLetter] (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                SELECT N'initiator', @conversationId, @handle, p.MessageSequence, p.MessageType, p.Body,
                    CONCAT(N'usp_EndLeaked: service ', p.ToService, N' is missing')
                FROM @pending AS p;
                END CONVERSATION @handle WITH CLEANUP;
            END;
        END;
    END;

    /* Nobody else will close its log row, and usp_PurgeLogs removes closed ones only. G is ours. */
    IF @outcome IS NULL AND @action IN (N'END', N'END UNUSED', N'END WITH CLEANUP', N'END UNREACHABLE')
        UPDATE cl
        SET EndedUtc = SYSUTCDATETIME(),
            Reason = ISNULL(cl.Reason, N'Ended by usp_EndLeaked.')
        FROM [orders].[ConversationLog] AS cl
            WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only */
        WHERE cl.Handle = @handle
          AND cl.EndedUtc IS NULL;

    /* A dialog that is kept keeps its timer as it was. */
    IF @outcome IS NOT NULL
        ROLLBACK TRANSACTION;
    ELSE
        COMMIT TRANSACTION;

    /* A row whose dialog is gone, by now or before: R alone, and not if it is in use. */
    IF @outcome IS NULL
        EXECUTE @result = [orders].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
    IF @outcome IS NULL AND @result = 1 AND @action IN (N'DELETE ROW', N'FREE SLOT')
        SET @outcome = N'kept: it is in use now';
    IF @outcome IS NULL AND @result = 2
        SET @outcome = N'failed: see ErrorLog, its row is still there';
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_InTheWay]
    @begunBefore datetime = NULL,       /* only transactions that began before this, the server's local time; NULL: all */
    @who nvarchar(1500) OUTPUT          /* N'': nobody; else at most five sessions */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Names the sessions whose open transactions hold rows of our tables or messages of our queues: who a
   drain, a change of choices or an uninstall waits for. Whoever locks a row also has a lock on its table,
   so this looks for locks on our own tables and queues: what else is at work in the database is not
   counted. Readers that activation started come and go and are not named. Reads no table, waits for nobody.
   Asked as the caller, since a user of one database is nobody to the server (F-240).
   Returns 0, or 1: the caller has no VIEW SERVER STATE, and who it is cannot be seen. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @ours TABLE (ObjectId bigint NOT NULL PRIMARY KEY);
    DECLARE @holders TABLE (SessionId int NOT NULL PRIMARY KEY);
    DECLARE @database int = DB_ID();
    DECLARE @session int = 0;
    DECLARE @named int = 0;
    DECLARE @text nvarchar(500);

    INSERT INTO @ours (ObjectId)
    SELECT o.object_id
    FROM sys.objects AS o
    WHERE o.object_id IN (OBJECT_ID(N'[orders].[SessionConversations]', N'U'), OBJECT_ID(N'[orders].[Gate]', N'U'), OBJECT_ID(N'[orders].[Everlasting]', N'U'), OBJECT_ID(N'[orders].[ConversationLog]', N'U'), OBJECT_ID(N'[orders].[SentMessage]', N'U'), OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[orders].[TargetQueue]', N'SQ'))
    UNION
    SELECT it.object_id                 /* where a queue keeps its messages (F-170) */
    FROM sys.internal_tables AS it
    WHERE it.parent_object_id IN (OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[orders].[TargetQueue]', N'SQ'));

    SET @who = N'';
    EXECUTE AS CALLER;
    IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0) = 0
       AND ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE'), 0) = 0    /* from 2022; NULL before */
    BEGIN
        REVERT;
        SET @who = N'sessions that cannot be named to you without VIEW SERVER STATE';
        RETURN 1;
    END;

    INSERT INTO @holders (SessionId)
    SELECT DISTINCT tl.request_session_id
    FROM sys.dm_tran_locks AS tl
    WHERE tl.resource_database_id = @database
      AND tl.resource_type = N'OBJECT'
      AND tl.request_status = N'GRANT'
      AND tl.request_session_id <> @@SPID
      AND EXISTS (SELECT 1 FROM @ours AS o WHERE o.ObjectId = tl.resource_associated_entity_id)
      AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.spid = tl.request_session_id);

    WHILE @named < 5
    BEGIN
        SET @text = NULL;
        SELECT TOP (1) @session = h.SessionId,
            @text = LEFT(CONCAT(N'session ', h.SessionId, N' (login ', es.original_login_name, N', host ', ISNULL(es.host_name, N'unknown'),
                N', program ', ISNULL(es.program_name, N'unknown'), N', transaction open since ', CONVERT(nvarchar(19), b.BegunAt, 120), N' server time)'), 300)
        FROM @holders AS h
        INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = h.SessionId
        CROSS APPLY (SELECT MIN(at.transaction_begin_time) AS BegunAt
                     FROM sys.dm_tran_session_transactions AS st
                     INNER JOIN sys.dm_tran_active_transactions AS at ON at.transaction_id = st.transaction_id
                     WHERE st.session_id = h.SessionId) AS b
        WHERE h.SessionId > @session
          AND b.BegunAt < ISNULL(@begunBefore, '99991231')
        ORDER BY h.SessionId;
        IF @text IS NULL
            BREAK;
        SET @who = LEFT(CONCAT(@who, CASE WHEN @who <> N'' THEN N'; ' END, @text), 1500);
        SET @named = @named + 1;
    END;

    REVERT;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_ReopenGate]
    @mark nvarchar(60) = NULL           /* of the deployment that has closed it */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Opens the gate again for a drain that did not finish: nothing has been replaced. Nobody sends on a dialog
   that has got its EndOfStream: rows are gone with theirs, and key = single looks at ConversationLog.
   Called outside a transaction. Returns 0, or 1: a transaction that was refused still holds the gate's row
   (F-148), and it stays closed until somebody calls usp_OpenGate. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET LOCK_TIMEOUT 5000;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
        UPDATE g
        SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'the drain did not finish'
        FROM [orders].[Gate] AS g
            WITH (ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)        /* its one row */
        WHERE g.ConfigId = 1;
        DELETE FROM [orders].[Setting] WHERE Name = N'deployment.gate' AND Value = @mark;
        INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'open gate', N'configuration orders', N'the drain did not finish');
        COMMIT TRANSACTION;
        RETURN 0;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() <> 1222
            THROW;
        RETURN 1;
    END CATCH;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_WaitForEnds]
    @deadline datetime2(3),             /* UTC: when to stop; past: one look */
    @resend bit = 0,                    /* 1: what dialogs ended by hand have left goes out again meanwhile */
    @open bigint OUTPUT,                /* endpoints that have not ended */
    @copies bigint OUTPUT               /* messages that have not landed; 10000: or more */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Waits until no dialog of this configuration is open and nothing of it is on its way, for usp_Drain and
   uninstall. Called outside a transaction. CLOSED endpoints are only the target's memory of replays (F-106).
   Endpoints are listed with NOLOCK: dialogs of others in this database are neither waited for nor counted.
   That list shows an END that is not committed as done. So a dialog counts as ended when ConversationLog
   says so, committed, or when we have had its group (F-109): whoever ends it holds that until he commits. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    DECLARE @seen TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY, ConversationId uniqueidentifier NOT NULL);
    DECLARE @handle uniqueidentifier;
    DECLARE @pauseMs int = 125;
    DECLARE @pause varchar(16);

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* The copies first, with locks: a resend that is just moving them is waited for, and its new
               dialog is seen then. */
            SELECT @open = 1, @copies = 1;      /* what an error leaves: not yet */
            SELECT @copies = COUNT(*) FROM (SELECT TOP (10000) sm.MessageSequence FROM [orders].[SentMessage] AS sm WITH (READCOMMITTEDLOCK)) AS x;

            INSERT INTO @seen (Handle, ConversationId)
            SELECT ce.conversation_handle, ce.conversation_id
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)         /* see above */
            INNER JOIN sys.services AS s ON s.service_id = ce.service_id
            WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/orders/initiator', N'//redial/orders/target')
              AND ce.state <> 'CD'
              AND NOT EXISTS (SELECT 1 FROM @seen AS k WHERE k.Handle = ce.conversation_handle);

            SELECT @open = COUNT_BIG(*)
            FROM @seen AS k
            INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = k.Handle
            WHERE ce.state <> 'CD';

            IF @open = 0
                DELETE k
                FROM @seen AS k
                WHERE EXISTS (SELECT 1
                              FROM @seen AS i
                              INNER JOIN [orders].[ConversationLog] AS cl
                                  WITH (READCOMMITTEDLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)     /* these dialogs' rows, committed */
                                  ON cl.Handle = i.Handle
                              WHERE i.ConversationId = k.ConversationId AND cl.EndedUtc IS NOT NULL);

            WHILE @open = 0 AND EXISTS (SELECT 1 FROM @seen)
            BEGIN
                SELECT TOP (1) @handle = k.Handle FROM @seen AS k;
                BEGIN TRANSACTION;
                /* Takes the group, or says that there is none any more. 1222: somebody is at work on it. */
                EXECUTE [orders].[usp_ArmTimer] @handle = @handle, @seconds = 86400;
                IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle AND ce.state <> 'CD')
                    SET @open = 1;
                ROLLBACK TRANSACTION;   /* its timer is as it was */
                IF @open = 0
                    DELETE FROM @seen WHERE Handle = @handle;
            END;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
            IF @open = 0
                SET @open = 1;
        END CATCH;

        IF @resend = 1 AND @copies > 0
            EXECUTE [orders].[usp_ResendStranded] @olderThanSeconds = 0;

        IF (@open = 0 AND @copies = 0) OR SYSUTCDATETIME() >= @deadline
            RETURN 0;

        /* 0.25 s at first, then twice as long each time up to 4 s: the view has a row for each
           endpoint of the database, and the broker needs it more than we do. */
        SET @pauseMs = CASE WHEN @pauseMs < 4000 THEN @pauseMs * 2 ELSE 4000 END;
        IF @pauseMs > DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline)
            SET @pauseMs = DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline) + 1;
        SET @pause = CONVERT(varchar(12), DATEADD(millisecond, CASE WHEN @pauseMs < 1 THEN 1 ELSE @pauseMs END, CONVERT(time(3), '00:00:00')), 121);
        WAITFOR DELAY @pause;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_Drain]
    @reason nvarchar(400) = NULL,       /* why: kept in Gate and OperatorLog; required with @WhatIf = 0 */
    @waitSeconds int = 60,              /* 0 to 3600: how long to go on, all in all */
    @keepClosed bit = 0,                /* 1: the gate stays closed out of time too */
    @WhatIf bit = 1,                    /* 1: only show what is open now */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0,                     /* 1: print each pass */
    @mark nvarchar(60) = NULL,          /* of a deployment: what opens the gate when that is through */
    @said nvarchar(2000) = NULL OUTPUT  /* what is in the way, for the error of a deployment */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* For an operator: no new sends, every dialog closed with EndOfStream, both sides ended. A sender gets
   in before the gate closes or gets 50102; nobody sends after EndOfStream, nothing is lost (F-148).
   It looks first: a transaction that holds something of ours for more than ten seconds already may have
   been forgotten, and nobody is kept out for that one; it ends or is named, with the gate as it was.
   Result set, one row per outcome: Outcome nvarchar(30), Figure bigint, Detail nvarchar(1500).
   Returns 0: drained (or shown), 1: not yet; the gate is as the first row says. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @deadline datetime2(3);
    DECLARE @begunBefore datetime = DATEADD(second, -10, GETDATE());
    DECLARE @who nvarchar(1500) = N'';
    DECLARE @blind int = 0;             /* 1: who it is cannot be seen */
    DECLARE @closed bit = 0;
    DECLARE @wasOpen bit = 0;
    DECLARE @passes int = 0;
    DECLARE @left bigint = NULL;        /* dialogs senders could still use; NULL: one is busy */
    DECLARE @recycled bigint = 0;
    DECLARE @open bigint = 0;
    DECLARE @pending bigint;
    DECLARE @copies bigint = 0;         /* messages that have not landed */
    DECLARE @drained bit = 0;
    DECLARE @largest bigint = 0;        /* at most so many copies has a dialog that is gone */
    DECLARE @largestOf uniqueidentifier = '00000000-0000-0000-0000-000000000000', @firstCopy bigint;

    IF @Help = 1
    BEGIN
        PRINT N'usp_Drain closes the gate (usp_Send then refuses with 50102), closes every dialog of
configuration orders and waits until both sides of each have ended. Open the gate with usp_OpenGate.
Out of time it names who is in the way, and opens the gate again if it was open before.
  @reason       why; required with @WhatIf = 0; kept with your login in Gate and OperatorLog
  @waitSeconds  0 to 3600, 60 by default: how long to go on, all in all
  @keepClosed   1: the gate stays closed out of time too; call again to go on
  @WhatIf       1 (default): only show what is open now, and who is in the way; 0: do it
  @Debug        1: print each pass
  @mark, @said  for a deployment and uninstall.sql
Example: EXECUTE [orders].[usp_Drain] @reason = N''server moves tonight'', @waitSeconds = 300, @WhatIf = 0;
Not drained in time: a sender is in a long transaction, or the target does not read. See usp_Health.';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50161, N'usp_Drain must be called outside a transaction: each step commits.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 1000;              /* whatever the caller's: what is busy longer is asked again (F-116) */

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
    /* 1  Look first: who was here before us for long                                              */
    /* ----------------------------------------------------------------------------------------- */
    WHILE @WhatIf = 0
    BEGIN
        EXECUTE AS CALLER;              /* only the server knows; see usp_InTheWay */
        EXECUTE @blind = [orders].[usp_InTheWay] @begunBefore = @begunBefore, @who = @who OUTPUT;
        REVERT;
        IF @who = N'' OR @blind = 1 OR SYSUTCDATETIME() >= @deadline
            BREAK;
        WAITFOR DELAY '00:00:01';
    END;

    IF @WhatIf = 0 AND (@who = N'' OR @blind = 1)
    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 2  The gate, committed before anything is looked at; the dialogs; both sides of each    */
        /* ------------------------------------------------------------------------------------- */
        EXECUTE [orders].[usp_CloseGate] @reason = @reason, @deadline = @deadline, @mark = @mark,
            @closed = @closed OUTPUT, @wasOpen = @wasOpen OUTPUT;
        IF @closed = 1
            EXECUTE [orders].[usp_CloseDialogs] @deadline = @deadline, @passes = @passes OUTPUT,
                @recycled = @recycled OUTPUT, @left = @left OUTPUT, @Debug = @Debug;
        IF @closed = 1
            EXECUTE [orders].[usp_WaitForEnds] @deadline = @deadline, @resend = 1, @open = @open OUTPUT, @copies = @copies OUTPUT;
        IF @closed = 1 AND @left = 0 AND @open = 0 AND @copies = 0
            SET @drained = 1;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF @wasOpen = 1
            EXECUTE [orders].[usp_ReopenGate] @mark = @mark;
        THROW;
    END CATCH;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  What is left, and who is in the way; then the gate as it was                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @drained = 0
    BEGIN
        IF @closed = 0
            EXECUTE [orders].[usp_WaitForEnds] @deadline = '20000101', @open = @open OUTPUT, @copies = @copies OUTPUT;
        IF @WhatIf = 1 OR @closed = 1 OR @who = N''
        BEGIN
            EXECUTE AS CALLER;
            EXECUTE @blind = [orders].[usp_InTheWay] @begunBefore = NULL, @who = @who OUTPUT;
            REVERT;
        END;
        IF @wasOpen = 1 AND @keepClosed = 0
            EXECUTE @closed = [orders].[usp_ReopenGate] @mark = @mark;
    END
    ELSE
        SET @who = N'';

    SELECT @pending = COUNT_BIG(*) FROM [orders].[ufn_Pending]();

    WHILE @copies > 0
    BEGIN
        SET @firstCopy = NULL;
        SELECT TOP (1) @largestOf = sm.ConversationId, @firstCopy = sm.MessageSequence
        FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId > @largestOf
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @firstCopy IS NULL
            BREAK;
        SELECT @largest = MAX(sm.MessageSequence) - @firstCopy + 1      /* numbers step by 1 (F-452) */
        FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId = @largestOf
          AND NOT EXISTS (SELECT 1 FROM [orders].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)
                          INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = cl.Handle AND ce.state IN ('SO', 'CO')
                          WHERE cl.ConversationId = @largestOf)
        HAVING MAX(sm.MessageSequence) - @firstCopy >= @largest;
    END;

    SET @said = CONCAT(CASE WHEN @who <> N'' THEN CONCAT(N'In the way: ', @who, N'. ') END,
        CASE WHEN @open > 0 THEN CONCAT(@open, N' conversation endpoints are open. ') END,
        CASE WHEN @copies > 0 AND @largest > 0 THEN N'Messages of dialogs that are gone have not landed. '
             WHEN @copies > 0 THEN N'Messages have not landed. ' END);

    /* ----------------------------------------------------------------------------------------- */
    /* 4  One row per outcome                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT o.Outcome, o.Figure, o.Detail
    FROM
    (
        SELECT 1 AS Place,
            CASE WHEN @WhatIf = 1 THEN N'would be closed' WHEN @closed = 1 THEN N'gate closed' WHEN @wasOpen = 1 THEN N'gate open again' ELSE N'gate still open' END AS Outcome,
            @passes AS Figure,
            CASE WHEN @WhatIf = 1 THEN N'nothing was done: @WhatIf = 1'
                 WHEN @closed = 0 THEN N'not drained in time; call again, or with a longer @waitSeconds'
                 ELSE N'passes over the dialogs' END AS Detail
        UNION ALL
        SELECT 2, N'dialogs closed', @recycled, N'EndOfStream was sent on them now, or they were dead'
        UNION ALL
        SELECT 3, N'dialogs in use', ISNULL(@left, 1), N'a sender is at work: it commits or rolls back first'
        WHERE @passes > 0 AND (@left <> 0 OR @left IS NULL)
        UNION ALL
        SELECT 4, N'in the way', NULL, @who        /* or that it cannot be seen */
        WHERE @who <> N''
        UNION ALL
        SELECT 5, N'endpoints open', @open, N'both sides, CLOSED ones left out; 0: everything was received'
        UNION ALL
        SELECT 6, N'dialogs pending', @pending, N'not in their queue yet: see vw_Pending'
        WHERE @pending > 0
        UNION ALL
        SELECT 7, N'messages not landed', @copies, CONCAT(N'10000: or more; see vw_Unlanded',
                CASE WHEN @largest = 0 THEN N'; their dialogs are open still'
                     ELSE CONCAT(N'; their dialogs are gone: see vw_Errors, then EXECUTE ', N'[orders].[usp_Resend]', N' @most = ', @largest, N', @reason = N''usp_Drain'', @WhatIf = 0;', CASE WHEN @largest > 100000 THEN N' One dialog is large: first see that there is room in the log for about three times its bytes' END) END)
        WHERE @copies > 0
    ) AS o
    ORDER BY o.Place;

    RETURN CASE WHEN @WhatIf = 1 OR @drained = 1 THEN 0 ELSE 1 END;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_EndLeaked]
    @WhatIf bit = 1,                    /* 1: only show what would be done */
    @most int = 1000,                   /* 1 to 100000: at most so many of each kind in one call */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each one as it is looked at */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* For an operator: endpoints of this configuration's services that nobody will end any more.
   - END: DISCONNECTED_INBOUND or ERROR, with nothing unread and nothing that has not landed.
   - GIVE UP: EndOfStream was sent, and the target's side is gone: what has not landed goes on.
   - END ALONE: a target whose sender's side is gone (ended WITH CLEANUP), with nothing unread or not landed.
   - END UNREACHABLE: EndOfStream was sent long ago to a service that does not exist; for the same callers.
   - END UNUSED: STARTED_OUTBOUND that no sender finds (one was cancelled in its first use, and its
     client committed all the same). CLOSE: the same, CONVERSING; it is sent EndOfStream.
   - END WITH CLEANUP: CLOSED past its time; done for a caller who is in db_owner (28006).
   - DELETE ROW, FREE SLOT: a row of SessionConversations whose dialog is gone.
   Result set, one row each: Handle uniqueidentifier, ConversationId uniqueidentifier, IsInitiator bit,
   State nvarchar(60), ConversationKey nvarchar(200), Action nvarchar(30), Outcome nvarchar(400).
   Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @leaked TABLE
    (
        LeakedId int NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        ConversationKey nvarchar(200) NULL,
        Action nvarchar(30) NOT NULL,
        Outcome nvarchar(400) NULL
    );
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @isInitiator bit;
    DECLARE @action nvarchar(30);
    DECLARE @outcome nvarchar(400);

    IF @Help = 1
    BEGIN
        PRINT N'usp_EndLeaked ends conversations of configuration orders that nobody will end any more.
  @most    1 to 100000, 1000 by default: at most so many of each kind in one call
  @reason  why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf  1 (default): only show; 0: do it
  @Debug   1: print each one as it is looked at
Nothing with an unread message or one that has not landed is ended: those are shown with what to call instead.
Example: EXECUTE [orders].[usp_EndLeaked] @reason = N''a tool began them'', @WhatIf = 0, @most = 10000;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50130, N'usp_EndLeaked must be called outside a transaction: each endpoint is ended in one of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* what is busy longer is shown as failed, and stays */

    IF ISNULL(@most, 0) NOT BETWEEN 1 AND 100000
        SET @errors = @errors + N'@most must be 1 to 100000. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50132, @errors, 1;
    END;

    INSERT INTO @leaked (LeakedId, Handle, ConversationId, IsInitiator, State, ConversationKey, Action)
    SELECT f.LeakedId, f.Handle, f.ConversationId, f.IsInitiator, f.State, f.ConversationKey, f.Action
    FROM [orders].[ufn_Leaked](@most) AS f;

    /* One by one, each checked again in its own transaction. */
    WHILE EXISTS (SELECT 1 FROM @leaked AS l WHERE l.LeakedId > @id)
    BEGIN
        SELECT TOP (1) @id = l.LeakedId, @handle = l.Handle, @conversationId = l.ConversationId, @isInitiator = l.IsInitiator, @action = l.Action
        FROM @leaked AS l
        WHERE l.LeakedId > @id
        ORDER BY l.LeakedId;

        BEGIN TRY
            EXECUTE AS CALLER;      /* who may be a member of db_owner, as we are not */
            EXECUTE [orders].[usp_EndLeakedOne] @handle = @handle, @conversationId = @conversationId, @isInitiator = @isInitiator,
                @action = @action, @WhatIf = @WhatIf, @outcome = @outcome OUTPUT;
            REVERT;
        END TRY
        BEGIN CATCH
            REVERT;
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            SET @outcome = LEFT(CONCAT(N'failed: ', ERROR_MESSAGE()), 400);
        END CATCH;

        UPDATE @leaked SET Outcome = ISNULL(@outcome, N'done') WHERE LeakedId = @id;

        IF @Debug = 1
            PRINT CONCAT(@action, N' ', @handle, N': ', ISNULL(@outcome, N'done'));
    END;

    INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
    SELECT N'end leaked', CONCAT(COUNT(*), N' conversations or rows'), @reason
    FROM @leaked AS l
    WHERE l.Outcome = N'done'
    HAVING COUNT(*) > 0;

    SELECT l.Handle, l.ConversationId, l.IsInitiator, l.State, l.ConversationKey, l.Action, l.Outcome
    FROM @leaked AS l
    ORDER BY l.LeakedId;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_MarkDeadLetter]
    @deadLetterId bigint = NULL,        /* the first or only one, from vw_DeadLetters */
    @toDeadLetterId bigint = NULL,      /* the last one of a range; NULL: only the first */
    @reason nvarchar(400) = NULL,       /* why: kept with each letter and in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show how many would be marked */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0,                     /* 1: print each batch */
    @code int = NULL,                   /* this and the rest: of these only; 0: those without a code */
    @messageType nvarchar(256) = NULL,  /* N'': those without a type */
    @reasonLike nvarchar(3000) = NULL,  /* a pattern, as LIKE has it; N'': those without a reason */
    @key nvarchar(200) = NULL,          /* of the message */
    @conversation uniqueidentifier = NULL,  /* its id or its handle, from vw_DeadLetters */
    @fromUtc datetime2(3) = NULL,       /* dead letters from then on, */
    @toUtc datetime2(3) = NULL          /* before then */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Marks dead letters as accepted: handled, without a replay. 1,000 per transaction, each with its own entry in
   OperatorLog. A letter somebody has handled stays as it is; one in use is neither waited for nor marked, and said.
   The number a letter has within its key will not land: it goes into SkippedNumber in the same transaction, as when
   usp_PurgeDeadLetter removes one, so nobody waits for it. That is for good: a marked letter cannot be replayed.
   Result set, one row: DeadLetters bigint, FirstId bigint, LastId bigint, InUse bigint, Outcome nvarchar(60).
   Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @filtered bit = CASE WHEN @code IS NULL AND @messageType IS NULL AND @reasonLike IS NULL AND @key IS NULL
        AND @conversation IS NULL AND @fromUtc IS NULL AND @toUtc IS NULL THEN 0 ELSE 1 END;
    DECLARE @letters TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @marked TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY, Header varbinary(1300) NULL);
    DECLARE @errors nvarchar(2048) = N'', @batch int = 1, @count bigint = 0, @first bigint, @last bigint;
    DECLARE @firstId bigint = ISNULL(@deadLetterId, 0);
    DECLARE @next bigint = @firstId;    /* letters before it have been looked at */
    DECLARE @lastId bigint = COALESCE(@toDeadLetterId, @deadLetterId, 9223372036854775807);

    IF @Help = 1
    BEGIN
        PRINT N'usp_MarkDeadLetter says of dead letters of configuration orders that they need no replay: the work was done elsewhere, or nobody wants it.
  @deadLetterId    the first or only one: see [orders].[vw_DeadLetters]
  @toDeadLetterId  the last one of a range
  @reason          why; required with @WhatIf = 0; kept with each letter and in OperatorLog, with your login
  @WhatIf          1 (default): only show how many; 0: do it
  @Debug           1: print each batch
Filter, for more than numbers; all that is given must hold ([orders].[vw_DeadLetterCauses] has each cause''s):
  @code, @messageType  as they are; 0 and N'''': letters that have none
  @reasonLike          a pattern, as LIKE has it; N'''': letters without a reason
  @key, @conversation  the message''s key; its dialog, by id or handle
  @fromUtc, @toUtc     when they became dead letters: from then on, before then
A letter that is marked stays as it is until usp_PurgeDeadLetter takes it away, and is not replayed any more.
Its number within its key is given up: who waits for it finds it in [orders].[vw_Unlanded].
Example: EXECUTE [orders].[usp_MarkDeadLetter] @code = 547, @reason = N''entered by hand, ticket 4711'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50178, N'usp_MarkDeadLetter must be called outside a transaction: it commits every 1,000 letters.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @deadLetterId IS NULL AND @filtered = 0
        SET @errors = @errors + N'@deadLetterId must name a dead letter, or one of @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc say which. ';
    IF @lastId < @deadLetterId
        SET @errors = @errors + N'@toDeadLetterId must be @deadLetterId or more. ';
    IF @fromUtc >= @toUtc
        SET @errors = @errors + N'@fromUtc must be before @toUtc. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50177, @errors, 1;
    END;

    /* ---- 1  Only shown ---- */
    IF @WhatIf = 1
        SELECT @count = COUNT_BIG(*), @first = MIN(d.DeadLetterId), @last = MAX(d.DeadLetterId)
        FROM [orders].[ufn_DeadLetters](0, @firstId, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc) AS d
        WHERE d.HandledUtc IS NULL;

    /* ---- 2  Batch by batch: looked up holding nothing, and on from the last one ---- */
    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        DELETE FROM @letters;
        DELETE FROM @marked;
        INSERT INTO @letters (DeadLetterId)
        SELECT TOP (1000) d.DeadLetterId
        FROM [orders].[ufn_DeadLetters](0, @next, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc) AS d
        WHERE d.HandledUtc IS NULL
        ORDER BY d.DeadLetterId;
        SELECT @batch = COUNT(*), @next = MAX(l.DeadLetterId) + 1 FROM @letters AS l;

        BEGIN TRY
            BEGIN TRANSACTION;

            UPDATE dl
            SET HandledUtc = SYSUTCDATETIME(), HandledBy = ORIGINAL_LOGIN(), Handling = N'accepted', HandlingReason = @reason
            OUTPUT INSERTED.DeadLetterId, SUBSTRING(INSERTED.Body, 1, 1300) INTO @marked (DeadLetterId, Header)
            FROM @letters AS l
            INNER JOIN [orders].[DeadLetter] AS dl
                /* XLOCK: U is got beside a reader under REPEATABLE READ, and then waits for X. */
                WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
                ON dl.DeadLetterId = l.DeadLetterId
            WHERE dl.HandledUtc IS NULL;

            IF EXISTS (SELECT 1 FROM @marked)
            BEGIN
                INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
                SELECT N'accept dead letters', CONCAT(COUNT_BIG(*), N' from ', MIN(m.DeadLetterId), N' to ', MAX(m.DeadLetterId)), @reason
                FROM @marked AS m;

                /* Given up: nobody shall wait for these numbers. The header is in front of the body (F-146). */
                INSERT INTO [orders].[SkippedNumber] (ConversationKey, KeySequence, Reason, MessageId)
                SELECT e.ConversationKey, e.KeySequence, N'given up', e.MessageId
                FROM @marked AS m
                CROSS APPLY [orders].[ufn_ReadEnvelope](m.Header) AS e
                WHERE e.ConversationKey IS NOT NULL AND e.KeySequence IS NOT NULL;
            END;

            COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            THROW;                      /* the batches before it stay marked: OperatorLog has them */
        END CATCH;

        SELECT @count = @count + COUNT_BIG(*), @first = ISNULL(@first, MIN(m.DeadLetterId)), @last = ISNULL(MAX(m.DeadLetterId), @last)
        FROM @marked AS m;
        IF @Debug = 1
            PRINT CONCAT(N'Looked at: ', @batch, N', accepted so far: ', @count);
    END;

    SELECT @count AS DeadLetters, @first AS FirstId, @last AS LastId, CASE WHEN t.Letters > n.Letters THEN t.Letters - n.Letters ELSE 0 END AS InUse,
        CASE WHEN @WhatIf = 1 THEN N'would be accepted' ELSE N'accepted' END AS Outcome
    FROM (SELECT COUNT_BIG(*) AS Letters FROM [orders].[ufn_DeadLetters](0, @firstId, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc)) AS n
    CROSS JOIN (SELECT COUNT_BIG(*) AS Letters FROM [orders].[ufn_DeadLetters](1, @firstId, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc)) AS t;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_ReorganizeQueue]
    @queue nvarchar(128) = NULL,        /* NULL: both */
    @rebuild bit = 0,                   /* 1: REBUILD instead of REORGANIZE: all pages anew, in one transaction */
    @waitSeconds int = 30,              /* 0 to 3600: how long to wait for readers that are at work */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each try */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* For an operator: puts the pages of a queue in order after a backlog. A long backlog leaves them half empty and
   full of ghosts, and RECEIVE then reads many for each message. Both forms are offline: the queue is locked
   until they are through, and who sends or receives waits (F-500). REORGANIZE keeps what it has done when it
   is stopped; REBUILD does not.
   ALTER QUEUE waits for every open RECEIVE, and who sends or receives waits behind it (F-130): so it waits
   two seconds at a time and lets them pass in between.
   Result set, one row a queue: QueueName nvarchar(128), Figure nvarchar(200), Outcome nvarchar(400).
   Returns 0, or 1: not all is done; call again. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @queues TABLE (QueueName nvarchar(128) NOT NULL PRIMARY KEY, Figure nvarchar(200) NULL, IsDue bit NOT NULL, Outcome nvarchar(400) NULL);
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @name nvarchar(128);
    DECLARE @deadline datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N'usp_ReorganizeQueue puts the pages of queues of configuration orders in order.
  @queue        its name; NULL: both queues of the configuration that are in this database
  @rebuild      1: REBUILD instead of REORGANIZE: all pages anew, in one transaction, with room for them in the log
  @waitSeconds  0 to 3600, 30 by default: how long to wait for readers that are at work
  @reason       why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf       1 (default): only show; 0: do it
  @Debug        1: print each try
Example: EXECUTE [orders].[usp_ReorganizeQueue] @reason = N''disk is free again'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50281, N'usp_ReorganizeQueue must be called outside a transaction: altering a queue keeps its senders waiting until the end of one.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* see above */

    IF @queue IS NOT NULL AND @queue NOT IN (N'InitiatorQueue', N'TargetQueue')
        SET @errors = @errors + N'@queue must be InitiatorQueue or TargetQueue, or NULL for both. ';
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N'@waitSeconds must be 0 to 3600. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50280, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    INSERT INTO @queues (QueueName, Figure, IsDue)
    SELECT q.QueueName, CONCAT(N'about ', q.Messages, N' messages'), 1
    FROM [orders].[ufn_Queues]() AS q
    WHERE q.QueueName = ISNULL(@queue, q.QueueName);

    /* A level below, so that a right that is missing is told and stops nothing. */
    CREATE TABLE #pages (QueueName nvarchar(128) COLLATE DATABASE_DEFAULT NOT NULL, Pages bigint NULL, FragmentationPercent float NULL);
    BEGIN TRY
        EXECUTE sys.sp_executesql N'INSERT INTO #pages (QueueName, Pages, FragmentationPercent) SELECT p.QueueName, p.Pages, p.FragmentationPercent FROM [orders].[ufn_QueuePages]() AS p;';
        UPDATE q
        SET Figure = CONCAT(q.Figure, N', ', p.Pages, N' pages, ', CONVERT(int, p.FragmentationPercent), N' % out of order')
        FROM @queues AS q
        INNER JOIN #pages AS p ON p.QueueName = q.QueueName;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        UPDATE @queues SET Figure = LEFT(CONCAT(Figure, N', pages not seen: ', ERROR_MESSAGE()), 200);
    END CATCH;

    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL)
    BEGIN
        SELECT TOP (1) @name = q.QueueName FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL ORDER BY q.QueueName;
        BEGIN TRY
            IF @name = N'InitiatorQueue'
            BEGIN
                /* As text: tools that read T-SQL, Microsoft's own parser among them, do not know these two. */
                IF @rebuild = 1
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [orders].[InitiatorQueue] REBUILD;';
                ELSE
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [orders].[InitiatorQueue] REORGANIZE;';
            END;
            IF @name = N'TargetQueue'
            BEGIN
                /* As text: tools that read T-SQL, Microsoft's own parser among them, do not know these two. */
                IF @rebuild = 1
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [orders].[TargetQueue] REBUILD;';
                ELSE
                    EXECUTE sys.sp_executesql N'ALTER QUEUE [orders].[TargetQueue] REORGANIZE;';
            END;
            UPDATE @queues SET Outcome = N'done' WHERE QueueName = @name;
            INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason) VALUES (N'reorganize queue', @name, @reason);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @Debug = 1
                PRINT CONCAT(@name, N': ', ERROR_MESSAGE());
            IF ERROR_NUMBER() <> 1222 OR SYSUTCDATETIME() >= @deadline
                UPDATE @queues
                SET Outcome = LEFT(CASE WHEN ERROR_NUMBER() = 1222 THEN N'not done: readers or senders were at work on it all the time; call again'
                                        ELSE CONCAT(N'failed: ', ERROR_MESSAGE()) END, 400)
                WHERE QueueName = @name;
            ELSE
                WAITFOR DELAY '00:00:00.500';
        END CATCH;
    END;

    SELECT q.QueueName, q.Figure, ISNULL(q.Outcome, CASE WHEN q.IsDue = 0 THEN N'nothing to do' ELSE N'would be done' END) AS Outcome
    FROM @queues AS q
    ORDER BY q.QueueName;

    RETURN CASE WHEN EXISTS (SELECT 1 FROM @queues AS q WHERE q.Outcome <> N'done') THEN 1 ELSE 0 END;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_ReplayDeadLetter]
    @deadLetterId bigint = NULL,        /* the first or only one, from vw_DeadLetters */
    @toDeadLetterId bigint = NULL,      /* the last one of a range; NULL: only the first */
    @reason nvarchar(400) = NULL,       /* why: kept with each letter and in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show what would be replayed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0,                     /* 1: print each step */
    @code int = NULL,                   /* this and the rest: of these only; 0: those without a code */
    @messageType nvarchar(256) = NULL,  /* N'': those without a type */
    @reasonLike nvarchar(3000) = NULL,  /* a pattern, as LIKE has it; N'': those without a reason */
    @key nvarchar(200) = NULL,          /* of the message */
    @conversation uniqueidentifier = NULL,  /* its id or its handle, from vw_DeadLetters */
    @fromUtc datetime2(3) = NULL,       /* dead letters from then on, */
    @toUtc datetime2(3) = NULL          /* before then */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Sends dead letters again, byte by byte as they were (a message id, a key's number and the sender in its
   envelope are kept): those of one key in the order of its numbers, on one private dialog that is closed at
   once, in one transaction that marks and sends them. So none is replayed twice and none is marked and not
   sent. Where that fails they are tried one by one: a bad letter stays, is named, and stops no other. At
   most 1,000 a call: more locks than 5,000 on one table would become a lock on all of it.
   Result set: DeadLetterId bigint, ConversationHandle uniqueidentifier, MessageSequence bigint,
   MessageType nvarchar(256), BodyBytes bigint, Outcome nvarchar(200). With a filter a second one, of one row:
   Matching, Chosen, Replayed, Remaining, InUse, all bigint. Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @filtered bit = CASE WHEN @code IS NULL AND @messageType IS NULL AND @reasonLike IS NULL AND @key IS NULL
        AND @conversation IS NULL AND @fromUtc IS NULL AND @toUtc IS NULL THEN 0 ELSE 1 END;
    DECLARE @errors nvarchar(2048) = N'', @replayed bigint = 0;
    DECLARE @firstId bigint = ISNULL(@deadLetterId, 0), @lastId bigint = COALESCE(@toDeadLetterId, @deadLetterId, 9223372036854775807);

    IF @Help = 1
    BEGIN
        PRINT N'usp_ReplayDeadLetter sends dead letters of configuration orders again, as they were.
  @deadLetterId    the first or only one: see [orders].[vw_DeadLetters]
  @toDeadLetterId  the last one of a range (at most 1,000 a call)
  @reason          why; required with @WhatIf = 0; kept with each letter, with your login
  @WhatIf          1 (default): only show; 0: do it
  @Debug           1: print each step
Filter, for more than numbers; all that is given must hold ([orders].[vw_DeadLetterCauses] has each cause''s):
  @code, @messageType  as they are; 0 and N'''': letters that have none
  @reasonLike          a pattern, as LIKE has it; N'''': letters without a reason
  @key, @conversation  the message''s key; its dialog, by id or handle
  @fromUtc, @toUtc     when they became dead letters: from then on, before then
A call takes the first 1,000; a second result says how many match, were replayed, remain, and are in use.
Example: EXECUTE [orders].[usp_ReplayDeadLetter] @deadLetterId = 7, @toDeadLetterId = 12, @reason = N''target mended'', @WhatIf = 0;
         EXECUTE [orders].[usp_ReplayDeadLetter] @code = 547, @reason = N''target mended'', @WhatIf = 0;
A letter whose cause is not mended comes back as a new dead letter.';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50171, N'usp_ReplayDeadLetter must be called outside a transaction: it sends in transactions of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @deadLetterId IS NULL AND @filtered = 0
        SET @errors = @errors + N'@deadLetterId must name a dead letter, or one of @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc say which. ';
    IF @lastId < @deadLetterId OR (@filtered = 0 AND @lastId - @deadLetterId > 999)
        SET @errors = @errors + N'@toDeadLetterId must be @deadLetterId to @deadLetterId + 999 (with a filter: @deadLetterId or more). ';
    IF @fromUtc >= @toUtc
        SET @errors = @errors + N'@fromUtc must be before @toUtc. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50170, @errors, 1;
    END;

    DECLARE @letters TABLE
    (
        Position int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        DeadLetterId bigint NOT NULL UNIQUE, ConversationHandle uniqueidentifier NOT NULL, MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NULL, BodyBytes bigint NULL, Outcome nvarchar(200) NULL,
        Unit int NOT NULL               /* what goes in one transaction */
    );
    DECLARE @marked TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY, MessageType nvarchar(256) NULL, Body varbinary(max) NULL);
    DECLARE @unit int = 0, @outcome nvarchar(200), @firstHandle uniqueidentifier, @newHandle uniqueidentifier, @sent bigint;
    DECLARE @messages [orders].[ReceivedBatch];

    /* ---- 1  Which, key by key. A later call takes none that belongs before one of these ---- */
    INSERT INTO @letters (DeadLetterId, ConversationHandle, MessageSequence, MessageType, BodyBytes, Unit)
    SELECT TOP (1000) d.DeadLetterId, d.ConversationHandle, d.MessageSequence, d.MessageType, d.BodyBytes, DENSE_RANK() OVER (ORDER BY d.FirstId)
    FROM [orders].[ufn_DeadLetters](0, @firstId, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc) AS d
    WHERE d.HandledUtc IS NULL AND d.MessageType IN (N'//redial/orders/event')
    ORDER BY d.FirstId, d.KeySequence, d.MessageSequence, d.DeadLetterId;

    WHILE @WhatIf = 0
    BEGIN
        SELECT TOP (1) @unit = l.Unit, @firstHandle = l.ConversationHandle
        FROM @letters AS l
        WHERE l.Unit >= @unit AND l.Outcome IS NULL
        ORDER BY l.Unit, l.Position;
        IF @@ROWCOUNT = 0
            BREAK;

        BEGIN TRY
            DELETE FROM @marked;
            DELETE FROM @messages;
            SET @outcome = NULL;
            BEGIN TRANSACTION;

            /* ---- 2  The gate. HOLDLOCK keeps it open until we commit: there is no R a drain could meet ---- */
            IF EXISTS (SELECT 1 FROM [orders].[Gate] AS g WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)
                       WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                THROW 50172, N'The gate is closed: this configuration is being drained. Next: usp_OpenGate, then call again.', 1;

            /* ---- 3  Mark first: the mark is the right to send, and two operators cannot both have it ---- */
            UPDATE dl
            SET HandledUtc = SYSUTCDATETIME(), HandledBy = ORIGINAL_LOGIN(), Handling = N'replayed', HandlingReason = @reason
            OUTPUT INSERTED.DeadLetterId, INSERTED.MessageType, INSERTED.Body INTO @marked (DeadLetterId, MessageType, Body)
            FROM @letters AS l
            INNER JOIN [orders].[DeadLetter] AS dl
                /* READPAST: as in ufn_DeadLetters. XLOCK: U is got beside a reader, and then waits for X. */
                WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
                ON dl.DeadLetterId = l.DeadLetterId
            WHERE l.Unit = @unit AND l.Outcome IS NULL AND dl.HandledUtc IS NULL;

            INSERT INTO @messages (MessageSequence, MessageType, Body)
            SELECT l.MessageSequence, m.MessageType, m.Body
            FROM @marked AS m
            INNER JOIN @letters AS l ON l.DeadLetterId = m.DeadLetterId
            ORDER BY l.Position;
            SET @sent = @@ROWCOUNT;

            IF @sent > 0
            BEGIN
                EXECUTE [orders].[usp_SendPrivately] @messages = @messages, @resendOf = @firstHandle,
                    @reason = N'usp_ReplayDeadLetter', @handle = @newHandle OUTPUT;

                INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
                SELECT N'replay dead letters', CONCAT(@sent, N' from ', MIN(m.DeadLetterId), N' to ', MAX(m.DeadLetterId), N', on conversation ', @newHandle), @reason
                FROM @marked AS m;
            END;

            COMMIT TRANSACTION;
            SET @replayed = @replayed + @sent;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() = 50172 AND @replayed = 0
                THROW;
            SET @outcome = LEFT(CONCAT(N'kept: failed with ', ERROR_NUMBER(), CASE WHEN ERROR_NUMBER() = 8429 THEN N' (the target refuses it)' END, N': ', ERROR_MESSAGE()), 200);
        END CATCH;

        /* Of several one may be bad: one by one then, behind all others. */
        IF @outcome IS NOT NULL AND (SELECT COUNT(*) FROM @letters AS l WHERE l.Unit = @unit AND l.Outcome IS NULL) > 1
            UPDATE @letters SET Unit = 1000 + Position WHERE Unit = @unit AND Outcome IS NULL;
        ELSE
            UPDATE l
            SET Outcome = ISNULL(@outcome, CASE WHEN m.DeadLetterId IS NULL THEN N'kept: it is in use now; call again' ELSE N'replayed' END)
            FROM @letters AS l
            LEFT OUTER JOIN @marked AS m ON m.DeadLetterId = l.DeadLetterId
            WHERE l.Unit = @unit AND l.Outcome IS NULL;

        IF @Debug = 1
            PRINT CONCAT(N'Replayed so far: ', @replayed, N'; ', @outcome);
    END;

    /* ---- 4  What became of each ---- */
    SELECT l.DeadLetterId, l.ConversationHandle, l.MessageSequence, NULLIF(l.MessageType, N'') AS MessageType, l.BodyBytes, ISNULL(l.Outcome, N'would be replayed') AS Outcome
    FROM @letters AS l
    UNION ALL
    SELECT dl.DeadLetterId, dl.ConversationHandle, dl.MessageSequence, dl.MessageType, DATALENGTH(dl.Body),
        CASE WHEN dl.HandledUtc IS NOT NULL
                 THEN CONCAT(N'kept: ', dl.Handling, N' at ', CONVERT(nvarchar(19), dl.HandledUtc, 120), N' UTC by ', dl.HandledBy)
             WHEN ISNULL(dl.MessageType, N'') NOT IN (N'//redial/orders/event')
                 THEN N'kept: its message type is not one that callers send'
             WHEN @WhatIf = 1 THEN N'would be replayed'
             ELSE N'kept: it is in use now; call again' END
    FROM [orders].[DeadLetter] AS dl
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)  /* as in ufn_DeadLetters */
    WHERE @filtered = 0 AND dl.DeadLetterId BETWEEN @firstId AND @lastId
      AND NOT EXISTS (SELECT 1 FROM @letters AS l WHERE l.DeadLetterId = dl.DeadLetterId)
    ORDER BY DeadLetterId;

    IF @filtered = 1
        SELECT n.Unhandled + @replayed AS Matching, (SELECT COUNT_BIG(*) FROM @letters) AS Chosen, @replayed AS Replayed, n.Unhandled AS Remaining,
            CASE WHEN t.Letters > n.Letters THEN t.Letters - n.Letters ELSE 0 END AS InUse
        FROM (SELECT COUNT_BIG(*) AS Letters, ISNULL(SUM(CASE WHEN d.HandledUtc IS NULL THEN CONVERT(bigint, 1) ELSE 0 END), 0) AS Unhandled FROM [orders].[ufn_DeadLetters](0, @firstId, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc) AS d) AS n
        CROSS JOIN (SELECT COUNT_BIG(*) AS Letters FROM [orders].[ufn_DeadLetters](1, @firstId, @lastId, @code, @messageType, @reasonLike, @key, @conversation, @fromUtc, @toUtc)) AS t;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_Resend]
    @handle uniqueidentifier = NULL,    /* this dialog; NULL: all that are over */
    @most bigint = 100000,              /* 1 and up: a dialog with more copies is left alone */
    @olderThanSeconds int = 0,          /* younger copies are left alone */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* For an operator: usp_ResendStranded and usp_ResendPending, with a look before and a word after.
   Result set, one row a dialog, at most 10,000: ConversationId uniqueidentifier, Handle uniqueidentifier
   (NULL: its initiator's side is gone), Messages bigint (at most so many), Outcome nvarchar(200). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @dialogs TABLE
    (
        ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NULL,
        State char(2) NULL,
        Messages bigint NOT NULL
    );
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @initiator uniqueidentifier;
    DECLARE @first bigint;
    DECLARE @dialogsSeen int = 0;
    DECLARE @code int = 0;
    DECLARE @result int = 0;

    IF @Help = 1
    BEGIN
        PRINT N'usp_Resend sends again what dialogs of configuration orders have left that cannot deliver it any more:
they failed and were too large for activation, or somebody ended them by hand.
  @handle            this dialog (the initiator''s handle), open or not: it is given up; NULL: all that are over
  @most              1 and up, 100000 by default: a dialog with more messages is left alone
  @olderThanSeconds  0 by default: younger messages are left alone (not with @handle)
  @reason            why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf            1 (default): only show; 0: do it
  @Debug             1: print each step
Each dialog goes in one transaction: see first that there is room in the log for about three times the
bytes of the largest. What cannot be sent again is in DeadLetter afterwards. Look first: [orders].[vw_Unlanded].
Example: EXECUTE [orders].[usp_Resend] @reason = N''somebody ended dialogs'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50261, N'usp_Resend must be called outside a transaction: each dialog goes in one of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF ISNULL(@most, 0) NOT BETWEEN 1 AND 2000000000
        SET @errors = @errors + N'@most must be 1 to 2000000000. ';
    IF ISNULL(@olderThanSeconds, -1) < 0
        SET @errors = @errors + N'@olderThanSeconds must be 0 or more. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50260, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Which: one seek a dialog. NOLOCK: a list; what is called below looks again under locks    */
    /* ----------------------------------------------------------------------------------------- */
    IF @handle IS NOT NULL
        INSERT INTO @dialogs (ConversationId, Handle, State, Messages)
        SELECT ce.conversation_id, ce.conversation_handle, ce.state,
            (SELECT COUNT_BIG(*) FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id)
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
        INNER JOIN sys.services AS s ON s.service_id = ce.service_id
        WHERE ce.conversation_handle = @handle AND ce.is_initiator = 1
          AND s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/initiator';
    ELSE
        WHILE @dialogsSeen < 10000
        BEGIN
            SET @first = NULL;
            SELECT TOP (1) @conversationId = sm.ConversationId, @first = sm.MessageSequence
            FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId > @conversationId
            ORDER BY sm.ConversationId, sm.MessageSequence;
            IF @first IS NULL
                BREAK;
            SELECT @dialogsSeen = @dialogsSeen + 1, @initiator = NULL;
            SELECT @initiator = cl.Handle
            FROM [orders].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)   /* written once */
            WHERE cl.ConversationId = @conversationId;
            IF @initiator IS NULL                      /* its row was deleted by hand */
                SELECT @initiator = ce.conversation_handle
                FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;

            /* Numbers of a dialog step by 1 (F-452): from first to last, and no count. */
            INSERT INTO @dialogs (ConversationId, Handle, State, Messages)
            SELECT @conversationId, ce.conversation_handle, ce.state, l.LastSequence - @first + 1
            FROM (SELECT MAX(sm.MessageSequence) AS LastSequence FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                  WHERE sm.ConversationId = @conversationId) AS l
            LEFT OUTER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = @initiator
            WHERE l.LastSequence IS NOT NULL
              AND (ce.state IS NULL OR ce.state NOT IN ('SO', 'CO'));
        END;

    IF @handle IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @dialogs)
        THROW 50260, N'@handle must be the initiator''s handle of a conversation of service ''//redial/orders/initiator'' that is still there; see vw_Conversations. Nothing was done.', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Send                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
    BEGIN
        INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason)
        SELECT N'resend', CONCAT(COUNT(*), N' dialogs', N', conversation ' + CONVERT(nvarchar(36), @handle)), @reason FROM @dialogs;

        IF @handle IS NULL
            EXECUTE [orders].[usp_ResendStranded] @olderThanSeconds = @olderThanSeconds, @most = @most;
        ELSE IF NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.Messages > @most)
        BEGIN
            /* What activation wrote down of its Error message. */
            SELECT @code = ISNULL(cl.Code, 0) FROM [orders].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) WHERE cl.Handle = @handle;
            EXECUTE @result = [orders].[usp_ResendPending] @handle = @handle, @code = @code, @description = @reason;
        END;
        IF @Debug = 1
            PRINT CONCAT(N'Returned ', @result);
    END;

    SELECT d.ConversationId, d.Handle, d.Messages,
        CASE WHEN d.Messages > @most THEN CONCAT(N'kept: more than @most = ', @most, N' messages; see that there is room in the log, then call with a larger @most')
             WHEN @WhatIf = 1 THEN N'would be sent again'
             WHEN NOT EXISTS (SELECT 1 FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = d.ConversationId)
                 THEN N'sent again, or in DeadLetter: see vw_DeadLetters'
             WHEN @result = 1 THEN N'kept: a reader of the target is at work on it; call again'
             ELSE N'kept: too young, in use now, or it failed; see vw_Errors' END AS Outcome
    FROM @dialogs AS d
    ORDER BY d.ConversationId;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_RetireIdle]
    @olderThanSeconds int = NULL,       /* idle for at least this long; 0: none for being idle; NULL: 3600 */
    @WhatIf bit = 1,                    /* 1: only show what would be retired */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Closes dialogs whose time has come, or that nobody has sent on for a while: the next send of that
   key begins a new one. Meant for a job; any time is right, as it takes R and G like a recycle (F-127).
   Idle is known by comparing a dialog's next message number with what the last run wrote down in
   IdleWatch: no send writes anything for it (F-171). So a dialog is idle from the second run on, and
   counts from the first run that saw it unmoved.
   Result set: Handle uniqueidentifier, ConversationKey nvarchar(200), Why nvarchar(60), Messages bigint,
   Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @dialogs TABLE
    (
        DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NULL,     /* it has not moved since; NULL: it has, or is new */
        IsDue bit NOT NULL,
        Why nvarchar(60) NULL,          /* NULL: it stays */
        Outcome nvarchar(60) NULL,
        INDEX IX_Dialogs_Handle NONCLUSTERED (Handle)   /* step 3 looks each one up twice */
    );
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @idleSeconds int = ISNULL(@olderThanSeconds, 3600);
    DECLARE @now datetime2(3) = SYSUTCDATETIME();
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @result int;

    IF @Help = 1
    BEGIN
        PRINT N'usp_RetireIdle closes dialogs of configuration orders that are past their time, near the end of their lifetime or idle, and
sends again what dialogs that were ended by hand have left behind (usp_ResendStranded).
  @olderThanSeconds  idle for at least this long (0: none for being idle); 3600 by default
  @WhatIf            1 (default): only show; 0: do it, and write down how far each dialog has come
  @Debug             1: print each step
Run it every few minutes with @WhatIf = 0: a dialog is known to be idle by comparing two runs.
Example: EXECUTE [orders].[usp_RetireIdle] @olderThanSeconds = 1800, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50186, N'usp_RetireIdle must be called outside a transaction: each dialog is closed in one of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @idleSeconds < 0
        SET @errors = @errors + N'@olderThanSeconds must be 0 or more. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50185, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  How far each dialog has come                                                             */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @dialogs (Handle, ConversationKey, SendSequence, SinceUtc, IsDue)
    SELECT sc.Handle, sc.ConversationKey, ce.send_sequence,
        CASE WHEN iw.SendSequence = ce.send_sequence THEN iw.SinceUtc END,
        /* Its timer should have closed it ten retries ago. */
        CASE WHEN 1 = 0
                  OR cl.BegunUtc < DATEADD(second, -4500, @now)
                  OR ce.lifetime <= DATEADD(second, 3690, GETUTCDATE())     /* nobody sends on it any more (F-465) */
             THEN 1 ELSE 0 END
    FROM [orders].[SessionConversations] AS sc
        /* A list of whom to visit, no decision: NOLOCK waits for no sender, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration's rows only. */
        WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
    INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = sc.Handle
    LEFT OUTER JOIN [orders].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = sc.Handle
    LEFT OUTER JOIN [orders].[IdleWatch] AS iw ON iw.Handle = sc.Handle
    WHERE sc.ConfigId = 1
      AND ce.state IN ('SO', 'CO');

    UPDATE d
    SET Why = CASE WHEN d.IsDue = 1 THEN N'its time has come'
                   ELSE CONCAT(N'idle for ', DATEDIFF_BIG(second, d.SinceUtc, @now), N' s or more') END,
        Outcome = N'would be retired'
    FROM @dialogs AS d
    WHERE d.IsDue = 1
       OR (@idleSeconds > 0 AND d.SinceUtc <= DATEADD(second, -@idleSeconds, @now));

    IF @Debug = 1
    BEGIN
        DECLARE @seen int = (SELECT COUNT(*) FROM @dialogs);
        DECLARE @due int = (SELECT COUNT(*) FROM @dialogs AS d WHERE d.Why IS NOT NULL);
        PRINT CONCAT(N'Dialogs: ', @seen, N', to be retired: ', @due, N'.');
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Write it down for the next run                                                           */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
    BEGIN
        BEGIN TRANSACTION;

        /* TABLOCKX: two runs of this procedure, one after the other; nobody else uses the table. */
        DELETE iw
        FROM [orders].[IdleWatch] AS iw WITH (TABLOCKX)
        WHERE NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.Handle = iw.Handle AND d.SendSequence = iw.SendSequence);

        INSERT INTO [orders].[IdleWatch] (Handle, SendSequence, SinceUtc)
        SELECT d.Handle, d.SendSequence, @now
        FROM @dialogs AS d
        WHERE NOT EXISTS (SELECT 1 FROM [orders].[IdleWatch] AS iw WHERE iw.Handle = d.Handle);

        COMMIT TRANSACTION;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  Close them, one by one; a busy one is in use and stays                                   */
    /* ----------------------------------------------------------------------------------------- */
    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.DialogId > @id AND d.Why IS NOT NULL)
    BEGIN
        SELECT TOP (1) @id = d.DialogId, @handle = d.Handle
        FROM @dialogs AS d
        WHERE d.DialogId > @id
          AND d.Why IS NOT NULL
        ORDER BY d.DialogId;

        EXECUTE @result = [orders].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;

        UPDATE @dialogs
        SET Outcome = CASE @result WHEN 0 THEN N'retired' WHEN 1 THEN N'kept: it is in use now' WHEN 3 THEN N'nothing to do: no row leads to it any more' ELSE N'failed: see ErrorLog' END
        WHERE DialogId = @id;
    END;

    IF @WhatIf = 0
        EXECUTE [orders].[usp_ResendStranded];

    SELECT d.Handle, d.ConversationKey, d.Why, d.SendSequence AS Messages, d.Outcome
    FROM @dialogs AS d
    WHERE d.Why IS NOT NULL
    ORDER BY d.DialogId;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_StartQueue]
    @queue nvarchar(128) = NULL,        /* NULL: both */
    @restart bit = 0,                   /* 1: also switch activation off and on, where a reader is stuck */
    @waitSeconds int = 30,              /* 0 to 3600: how long to wait for readers that are at work */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each try */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* For an operator: switches a queue and its activation on, with procedure, readers and the other properties
   the configuration says. What switched it off is not mended by this: see vw_Errors first; five rollbacks in
   a row would switch it off again (F-118). Only what differs is altered, unless @restart = 1.
   ALTER QUEUE waits for every open RECEIVE, and who sends or receives waits behind it (F-130): so it waits
   two seconds at a time and lets them pass in between.
   Result set, one row a queue: QueueName nvarchar(128), Figure nvarchar(200), Outcome nvarchar(400).
   Returns 0, or 1: not all is done; call again. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @queues TABLE (QueueName nvarchar(128) NOT NULL PRIMARY KEY, Figure nvarchar(200) NULL, IsDue bit NOT NULL, Outcome nvarchar(400) NULL);
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @name nvarchar(128);
    DECLARE @deadline datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N'usp_StartQueue switches queues and their activation on, as configuration orders says.
  @queue        its name; NULL: both queues of the configuration that are in this database
  @restart      1: also switch activation off and on, where a reader ended without RECEIVE
  @waitSeconds  0 to 3600, 30 by default: how long to wait for readers that are at work
  @reason       why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf       1 (default): only show; 0: do it
  @Debug        1: print each try
Example: EXECUTE [orders].[usp_StartQueue] @reason = N''disk is free again'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50271, N'usp_StartQueue must be called outside a transaction: altering a queue keeps its senders waiting until the end of one.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* see above */

    IF @queue IS NOT NULL AND @queue NOT IN (N'InitiatorQueue', N'TargetQueue')
        SET @errors = @errors + N'@queue must be InitiatorQueue or TargetQueue, or NULL for both. ';
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N'@waitSeconds must be 0 to 3600. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50270, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    INSERT INTO @queues (QueueName, Figure, IsDue)
    SELECT q.name,
        CONCAT(N'queue ', CASE WHEN q.is_receive_enabled = 1 AND q.is_enqueue_enabled = 1 THEN N'on' ELSE N'OFF' END,
            N', activation ', CASE WHEN q.is_activation_enabled = 1 THEN N'on' ELSE N'OFF' END, N', procedure ', ISNULL(q.activation_procedure, N'NONE'),
            N', readers ', q.max_readers, N', retention ', q.is_retention_enabled, N', poison handling ', q.is_poison_message_handling_enabled),
        CASE WHEN ISNULL(@restart, 0) = 0
              AND q.is_receive_enabled = 1 AND q.is_enqueue_enabled = 1 AND q.is_activation_enabled = 1
              AND q.is_retention_enabled = 0 AND q.is_poison_message_handling_enabled = k.Poison
              AND q.max_readers = k.Readers
              AND OBJECT_ID(q.activation_procedure) = k.ProcedureId
              AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'orders_module') THEN 0 ELSE 1 END
    FROM (VALUES
        (OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ'), 4, 1, OBJECT_ID(N'[orders].[usp_SenderActivation]', N'P')),
        (OBJECT_ID(N'[orders].[TargetQueue]', N'SQ'), 4, 1, OBJECT_ID(N'[orders].[usp_TargetActivation]', N'P'))
    ) AS k(QueueId, Readers, Poison, ProcedureId)
    INNER JOIN sys.service_queues AS q ON q.object_id = k.QueueId
    WHERE q.name = ISNULL(@queue, q.name);

    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL)
    BEGIN
        SELECT TOP (1) @name = q.QueueName FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL ORDER BY q.QueueName;
        BEGIN TRY
            IF @name = N'InitiatorQueue'
            BEGIN
                IF @restart = 1
                    ALTER QUEUE [orders].[InitiatorQueue] WITH ACTIVATION (STATUS = OFF);
                ALTER QUEUE [orders].[InitiatorQueue] WITH STATUS = ON, RETENTION = OFF,
                    ACTIVATION (STATUS = ON, PROCEDURE_NAME = [orders].[usp_SenderActivation], MAX_QUEUE_READERS = 4, EXECUTE AS SELF),
                    POISON_MESSAGE_HANDLING (STATUS = ON);
            END;
            IF @name = N'TargetQueue'
            BEGIN
                IF @restart = 1
                    ALTER QUEUE [orders].[TargetQueue] WITH ACTIVATION (STATUS = OFF);
                ALTER QUEUE [orders].[TargetQueue] WITH STATUS = ON, RETENTION = OFF,
                    ACTIVATION (STATUS = ON, PROCEDURE_NAME = [orders].[usp_TargetActivation], MAX_QUEUE_READERS = 4, EXECUTE AS SELF),
                    POISON_MESSAGE_HANDLING (STATUS = ON);
            END;
            UPDATE @queues SET Outcome = N'done' WHERE QueueName = @name;
            INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason) VALUES (N'start queue', @name, @reason);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @Debug = 1
                PRINT CONCAT(@name, N': ', ERROR_MESSAGE());
            IF ERROR_NUMBER() <> 1222 OR SYSUTCDATETIME() >= @deadline
                UPDATE @queues
                SET Outcome = LEFT(CASE WHEN ERROR_NUMBER() = 1222 THEN N'not done: readers or senders were at work on it all the time; call again'
                                        ELSE CONCAT(N'failed: ', ERROR_MESSAGE()) END, 400)
                WHERE QueueName = @name;
            ELSE
                WAITFOR DELAY '00:00:00.500';
        END CATCH;
    END;

    SELECT q.QueueName, q.Figure, ISNULL(q.Outcome, CASE WHEN q.IsDue = 0 THEN N'nothing to do' ELSE N'would be done' END) AS Outcome
    FROM @queues AS q
    ORDER BY q.QueueName;

    RETURN CASE WHEN EXISTS (SELECT 1 FROM @queues AS q WHERE q.Outcome <> N'done') THEN 1 ELSE 0 END;
END;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'875254cfeddf0a5b 5', @level0type = N'SCHEMA', @level0name = N'orders';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
