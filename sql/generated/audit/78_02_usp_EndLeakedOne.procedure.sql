SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndLeakedOne]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @isInitiator bit,                   /* 1: of the side that sends, 0: of the target */
    @action nvarchar(30),               /* of ufn_Leaked */
    @WhatIf bit = 1,                    /* 1: only say what would be done */
    @outcome nvarchar(400) OUTPUT       /* NULL: done */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
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
        FROM [audit].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written once */
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
        IF EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
           OR EXISTS (SELECT 1 FROM [audit].[InitiatorQueue] AS q WHERE q.conversation_handle = @handle)
            SET @outcome = N'kept: unread messages are left; its activation handles them';
        ELSE IF (@isInitiator = 1 OR @action = N'END ALONE')
                AND EXISTS (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (FORCESEEK) WHERE sm.ConversationId = @conversationId)    /* its rows only */
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
              FROM [audit].[SentMessage] AS sm
                  WITH (NOLOCK, FORCESEEK)      /* a size, no decision on a row */
              WHERE sm.ConversationId = @conversationId) AS p;
        IF @copies > 100000
            SET @outcome = CONCAT(N'kept: more than 100000 messages have not landed. Next: see that there is room in the log for about three times their bytes; then EXECUTE ', N'[audit].[usp_Resend]', N' @handle = ''', @handle, N''', @most = 2000000000, @reason = N''usp_EndLeaked'', @WhatIf = 0;');
        /* The list was read with NOLOCK, to which an end that is not committed looks like one. So once
           more by a read that may wait, holding nothing (F-126). */
        ELSE IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS t
                        WHERE t.conversation_id = @conversationId AND t.is_initiator = 0 AND t.state <> 'CD')
            SET @outcome = N'kept: its target is there';
        /* Takes G, so that whoever is just ending this dialog has committed; then all of it again. */
        IF @outcome IS NULL
            EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
        IF @outcome IS NULL
           AND NOT EXISTS (SELECT 1
                           FROM sys.conversation_endpoints AS ce
                               WITH (NOLOCK)    /* our own endpoint, under G (F-126) */
                           INNER JOIN [audit].[ConversationLog] AS cl
                               WITH (FORCESEEK)     /* this dialog's row only, under G (F-127) */
                               ON cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL
                           WHERE ce.conversation_handle = @handle AND ce.state = 'CO' AND GET_TRANSMISSION_STATUS(@handle) = N''
                             AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS t WITH (NOLOCK)     /* as above */
                                             WHERE t.conversation_id = @conversationId AND t.is_initiator = 0 AND t.state <> 'CD'))
            SET @outcome = N'kept: it has ended or failed meanwhile, is in use, or its target is there';
        IF @outcome IS NULL
            EXECUTE @result = [audit].[usp_ResendPending] @handle = @handle, @code = 0,
                @description = N'Given up by usp_EndLeaked: the target was gone.';
        IF @outcome IS NULL AND @result <> 0
            SET @outcome = N'kept: a reader is at work on it';
    END
    ELSE IF @action IN (N'END UNUSED', N'CLOSE', N'END UNREACHABLE') AND @outcome IS NULL
    BEGIN
        /* Takes G, so that a sender that just begins or closes this dialog has committed. */
        EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
        IF @action <> N'END UNREACHABLE'
           AND EXISTS (SELECT 1 FROM [audit].[ConversationLog] AS cl
                           WITH (FORCESEEK)     /* this dialog's row only, under G (F-127) */
                       WHERE cl.Handle = @handle AND cl.EndOfStreamUtc IS NOT NULL)
            SET @outcome = N'kept: it is closing now';
        IF EXISTS (SELECT 1
                   FROM [audit].[SessionConversations] AS sc
                       /* We hold G, and a sender that holds its row may want it: a wait here, or a
                          scan that meets that row, would close the circle. A busy entry fails (1222)
                          and is shown. */
                       WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                   WHERE sc.Handle = @handle)
            SET @outcome = N'kept: it is in use now';
        IF @outcome IS NULL AND @action = N'CLOSE'
        BEGIN
            EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
            /* Of a dialog somebody began by hand: the next run knows that it is closing. */
            INSERT INTO [audit].[ConversationLog] (Handle, ConversationId, ConfigId, EndOfStreamUtc, Reason)
            SELECT @handle, @conversationId, 1, SYSUTCDATETIME(), N'Begun by nobody of ours; closed by usp_EndLeaked.'
            WHERE NOT EXISTS (SELECT 1 FROM [audit].[ConversationLog] AS cl WITH (FORCESEEK) WHERE cl.Handle = @handle);     /* as above */
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
                INSERT INTO [audit].[DeadLetter] (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Reason)
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
        FROM [audit].[ConversationLog] AS cl
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
        EXECUTE @result = [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
    IF @outcome IS NULL AND @result = 1 AND @action IN (N'DELETE ROW', N'FREE SLOT')
        SET @outcome = N'kept: it is in use now';
    IF @outcome IS NULL AND @result = 2
        SET @outcome = N'failed: see ErrorLog, its row is still there';
    RETURN 0;
END;
GO
