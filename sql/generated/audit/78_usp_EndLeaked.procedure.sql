SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndLeaked]
    @WhatIf bit = 1,                    /* 1: only show what would be done */
    @most int = 1000,                   /* 1 to 100000: at most so many of each kind in one call */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each one as it is looked at */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* lint: operator */
/* For an operator: endpoints of this configuration's services that nobody will end any more.
   - END: DISCONNECTED_INBOUND or ERROR, with nothing unread and nothing that has not landed.
   - GIVE UP: EndOfStream was sent, and the target's side is gone: what has not landed goes on.
   - END ALONE: a target whose sender's side is gone (ended WITH CLEANUP), with nothing unread or not landed.
   - END UNUSED: STARTED_OUTBOUND that no sender finds (one was cancelled in its first use, and its
     client committed all the same). CLOSE: the same, CONVERSING; it is sent EndOfStream.
   - END WITH CLEANUP: CLOSED past its time.
   - DELETE ROW, FREE SLOT: a row of SessionConversations whose dialog is gone.
   Result set, one row each: Handle uniqueidentifier, ConversationId uniqueidentifier, IsInitiator bit,
   State nvarchar(60), ConversationKey nvarchar(200), Action nvarchar(30), Outcome nvarchar(400).
   Returns 0. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET ROWCOUNT 0;                     /* a caller's would cut the list (F-331) */
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @leaked TABLE
    (
        LeakedId int NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        ConversationKey nvarchar(200) NULL,
        Action nvarchar(30) NOT NULL,
        Outcome nvarchar(400) NOT NULL
    );
    DECLARE @id int;
    DECLARE @handle uniqueidentifier;
    DECLARE @action nvarchar(30);
    DECLARE @outcome nvarchar(400);
    DECLARE @conversationId uniqueidentifier;
    DECLARE @copies bigint;
    DECLARE @busy int;
    DECLARE @result int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help and inputs                                                                          */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_EndLeaked ends conversations of configuration audit that nobody will end any more.
  @WhatIf  1 (default): only show; 0: do it
  @most    1 to 100000, 1000 by default: at most so many of each kind in one call
  @Debug   1: print each one as it is looked at
Nothing with an unread message or one that has not landed is ended: those are shown with what to call instead.
Example: EXECUTE [audit].[usp_EndLeaked] @WhatIf = 0, @most = 10000;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50130, N'usp_EndLeaked must be called outside a transaction: each endpoint is ended in one of its own.', 1;
    IF @WhatIf IS NULL OR ISNULL(@most, 0) NOT BETWEEN 1 AND 100000
        THROW 50132, N'@WhatIf must be 0 or 1. @most must be 1 to 100000.', 1;

    INSERT INTO @leaked (LeakedId, Handle, ConversationId, IsInitiator, State, ConversationKey, Action, Outcome)
    SELECT f.LeakedId, f.Handle, f.ConversationId, f.IsInitiator, f.State, f.ConversationKey, f.Action,
        CASE f.Action WHEN N'CLOSE' THEN N'would be closed'
                      WHEN N'GIVE UP' THEN N'would be given up'
                      WHEN N'END ALONE' THEN N'would be cleaned up'
                      WHEN N'END WITH CLEANUP' THEN N'would be cleaned up'
                      WHEN N'DELETE ROW' THEN N'would be deleted'
                      WHEN N'FREE SLOT' THEN N'would be freed'
                      ELSE N'would be ended' END
    FROM [audit].[ufn_Leaked](@most) AS f;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  One by one, each checked again in its own transaction                                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @id = 0;
    WHILE EXISTS (SELECT 1 FROM @leaked AS l WHERE l.LeakedId > @id)
    BEGIN
        SELECT TOP (1) @id = l.LeakedId, @handle = l.Handle, @action = l.Action, @conversationId = l.ConversationId,
            @outcome = CASE WHEN @WhatIf = 1 THEN l.Outcome END         /* NULL: nothing against it yet */
        FROM @leaked AS l
        WHERE l.LeakedId > @id
        ORDER BY l.LeakedId;

        BEGIN TRY
            BEGIN TRANSACTION;

            IF @action = N'END'
            BEGIN
                /* The far side has ended, so nothing new arrives: once nothing is unread, nothing will
                   be. A plain read: it waits for a reader that holds the rows, and so is told the truth. */
                IF EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
                   OR EXISTS (SELECT 1 FROM [audit].[InitiatorQueue] AS q WHERE q.conversation_handle = @handle)
                    SET @outcome = N'kept: unread messages are left; its activation handles them';
                ELSE IF EXISTS (SELECT 1
                                FROM [audit].[SentMessage] AS sm WITH (FORCESEEK)     /* this dialog's rows only */
                                WHERE sm.ConversationId = (SELECT l.ConversationId FROM @leaked AS l WHERE l.LeakedId = @id AND l.IsInitiator = 1))
                    SET @outcome = N'kept: messages have not landed; call usp_ResendPending';
                ELSE IF @outcome IS NULL
                BEGIN
                    END CONVERSATION @handle;
                END;
            END
            ELSE IF @action = N'END WITH CLEANUP' AND @outcome IS NULL
            BEGIN
                END CONVERSATION @handle WITH CLEANUP;
            END
            ELSE IF @action = N'GIVE UP'
            BEGIN
                /* All of a dialog goes in one transaction: a very large one wants somebody who has looked at
                   the log first. Nobody sends behind EndOfStream: there will not be more. */
                SELECT @copies = COUNT(*)
                FROM (SELECT TOP (100001) sm.MessageSequence
                      FROM [audit].[SentMessage] AS sm
                          WITH (NOLOCK, FORCESEEK)      /* a size, no decision on a row */
                      WHERE sm.ConversationId = @conversationId) AS p;
                IF @copies > 100000
                    SET @outcome = CONCAT(N'kept: more than 100000 messages have not landed. Next: see that there is room in the log for about three times their bytes; then EXECUTE usp_ResendPending @handle = ''', @handle, N''', @code = 0');
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
                    EXECUTE @busy = [audit].[usp_ResendPending] @handle = @handle, @code = 0,
                        @description = N'Given up by usp_EndLeaked: the target was gone.';
                IF @outcome IS NULL AND @busy <> 0
                    SET @outcome = N'kept: a reader is at work on it';
            END
            ELSE IF @action = N'END ALONE'
            BEGIN
                /* Plain reads, which wait for a reader at work, and hold nothing (F-126). */
                IF EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
                    SET @outcome = N'kept: unread messages are left; its activation handles them';
                ELSE IF EXISTS (SELECT 1
                                FROM [audit].[SentMessage] AS sm WITH (FORCESEEK)     /* this dialog's rows only */
                                WHERE sm.ConversationId = @conversationId)
                    SET @outcome = N'kept: messages have not landed; call usp_ResendStranded, which ends it';
                ELSE IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS i
                                WHERE i.conversation_id = @conversationId AND i.is_initiator = 1)
                    SET @outcome = N'kept: its sender''s side is there';
                /* WITH CLEANUP: there is nobody an EndDialog could reach. */
                ELSE IF @outcome IS NULL
                    END CONVERSATION @handle WITH CLEANUP;
            END
            ELSE IF @action IN (N'END UNUSED', N'CLOSE') AND @outcome IS NULL
            BEGIN
                /* Takes G, so that a sender that just begins or closes this dialog has committed. */
                EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
                IF EXISTS (SELECT 1 FROM [audit].[ConversationLog] AS cl
                               WITH (FORCESEEK)     /* this dialog's row only, under G (F-127) */
                           WHERE cl.Handle = @handle AND cl.EndOfStreamUtc IS NOT NULL)
                    SET @outcome = N'kept: it is closing now';
                IF EXISTS (SELECT 1
                           FROM [audit].[SessionConversations] AS sc
                               /* We hold G, and a sender that holds its row may want it: a wait
                                  here, or a scan that meets that row, would close the circle. A
                                  busy entry fails (1222) and is shown. */
                               WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                           WHERE sc.Handle = @handle)
                    SET @outcome = N'kept: it is in use now';
                IF @outcome IS NULL AND @action = N'CLOSE'
                BEGIN
                    EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
                END
                ELSE IF @outcome IS NULL
                BEGIN
                    END CONVERSATION @handle;
                END;
            END;

            /* Nobody else will close its log row, and usp_PurgeLogs removes closed ones only. G is ours. */
            IF @outcome IS NULL AND @action IN (N'END', N'END UNUSED', N'END WITH CLEANUP')
            BEGIN
                UPDATE cl
                SET EndedUtc = SYSUTCDATETIME(),
                    Reason = ISNULL(cl.Reason, N'Ended by usp_EndLeaked.')
                FROM [audit].[ConversationLog] AS cl
                    WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only */
                WHERE cl.Handle = @handle
                  AND cl.EndedUtc IS NULL;
            END;

            /* A dialog that is kept keeps its timer as it was. */
            IF @action = N'GIVE UP' AND @outcome IS NOT NULL
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
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            SET @outcome = LEFT(CONCAT(N'failed: ', ERROR_MESSAGE()), 400);
        END CATCH;

        UPDATE @leaked SET Outcome = ISNULL(@outcome, N'done') WHERE LeakedId = @id;

        IF @Debug = 1
            PRINT CONCAT(@action, N' ', @handle, N': ', ISNULL(@outcome, N'done'));
    END;

    IF @WhatIf = 0 AND EXISTS (SELECT 1 FROM @leaked AS l WHERE l.Outcome = N'done')
    BEGIN
        INSERT INTO [audit].[OperatorLog] (Action, Detail)
        SELECT N'end leaked', CONCAT(COUNT(*), N' conversations or rows')
        FROM @leaked AS l
        WHERE l.Outcome = N'done';
    END;

    SELECT l.Handle, l.ConversationId, l.IsInitiator, l.State, l.ConversationKey, l.Action, l.Outcome
    FROM @leaked AS l
    ORDER BY l.LeakedId;

    RETURN 0;
END;
GO
