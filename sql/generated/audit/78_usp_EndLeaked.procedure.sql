SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndLeaked]
    @WhatIf bit = 1                     /* 1: only show what would be done */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* lint: operator */
/* For an operator: endpoints of this configuration's services that nobody will end any more.
   - DISCONNECTED_INBOUND or ERROR, with nothing unread and nothing pending: ended.
   - STARTED_OUTBOUND that no row leads to (a sender was cancelled in its first use, and its client
     committed all the same): ended.
   - CLOSED past its time: ended WITH CLEANUP.
   - Rows of SessionConversations whose dialog is gone: deleted.
   Returns one row each: what, and whether it was done. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @leaked TABLE
    (
        LeakedId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
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
    DECLARE @key nvarchar(200);
    DECLARE @action nvarchar(30);
    DECLARE @done bit;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Pending messages must be visible                                                         */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT <> 0
        THROW 50130, N'usp_EndLeaked must be called outside a transaction: each endpoint is ended in one of its own.', 1;
    IF ISNULL(IS_MEMBER(N'db_owner'), 0) <> 1
        THROW 50131, N'usp_EndLeaked cannot see sys.transmission_queue: user ''audit_module'' must be a member of db_owner. Next: ALTER ROLE db_owner ADD MEMBER [audit_module]; then call it again.', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Candidates                                                                               */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action, Outcome)
    SELECT ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END', N'would be ended'
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name IN (N'//redial/audit/initiator', N'//redial/audit/target')
      AND ce.state IN ('DI', 'ER');

    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action, Outcome)
    SELECT ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END UNUSED', N'would be ended'
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name = N'//redial/audit/initiator'
      AND ce.state = 'SO'
      AND NOT EXISTS (SELECT 1
                      FROM [audit].[SessionConversations] AS sc
                          WITH (FORCESEEK)   /* a scan would wait for every sender at work, not for this one */
                      WHERE sc.Handle = ce.conversation_handle);

    /* A CLOSED row guards against replays until security_timestamp; 1900 means that was never set,
       and then the row is kept until 30 minutes after the lifetime (F-106). Both are UTC. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action, Outcome)
    SELECT ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END WITH CLEANUP',
        N'would be cleaned up'
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name IN (N'//redial/audit/initiator', N'//redial/audit/target')
      AND ce.state = 'CD'
      AND ((ce.security_timestamp > '19000101' AND ce.security_timestamp < GETUTCDATE())
           OR (ce.security_timestamp = '19000101' AND ce.lifetime < DATEADD(minute, -30, GETUTCDATE())));

    INSERT INTO @leaked (Handle, IsInitiator, State, ConversationKey, Action, Outcome)
    SELECT sc.Handle, 1, N'gone', sc.ConversationKey, N'DELETE ROW', N'would be deleted'
    FROM [audit].[SessionConversations] AS sc
        WITH (READPAST, READCOMMITTEDLOCK)   /* a row in use is no leak; do not wait for it */
    WHERE NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = sc.Handle);

    /* ----------------------------------------------------------------------------------------- */
    /* 3  One by one, each checked again in its own transaction                                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @id = 0;
    WHILE EXISTS (SELECT 1 FROM @leaked AS l WHERE l.LeakedId > @id)
    BEGIN
        SELECT TOP (1) @id = l.LeakedId, @handle = l.Handle, @key = l.ConversationKey, @action = l.Action
        FROM @leaked AS l
        WHERE l.LeakedId > @id
        ORDER BY l.LeakedId;

        SET @done = 0;
        BEGIN TRY
            BEGIN TRANSACTION;

            IF @action = N'DELETE ROW'
            BEGIN
                IF @WhatIf = 0
                BEGIN
                    DELETE sc
                    FROM [audit].[SessionConversations] AS sc
                        /* Clustered key first, then the Handle entry (F-120); READPAST: a row in use
                           is a sender's, who heals it (it holds R and finds the handle dead). */
                        WITH (ROWLOCK, READPAST, INDEX ([PK_SessionConversations]), FORCESEEK)
                    WHERE sc.ConfigId = 1
                      AND sc.ConversationKey = @key
                      AND sc.Handle = @handle;
                    SET @done = @@ROWCOUNT;
                END;
            END
            ELSE IF @action = N'END WITH CLEANUP'
            BEGIN
                IF @WhatIf = 0
                BEGIN
                    END CONVERSATION @handle WITH CLEANUP;
                    SET @done = 1;
                END;
            END
            ELSE IF @action = N'END UNUSED'
            BEGIN
                IF @WhatIf = 0
                BEGIN
                    /* Takes G, so that a sender that just begins this dialog has committed its row. */
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
                    IF EXISTS (SELECT 1
                               FROM [audit].[SessionConversations] AS sc
                                   /* We hold G, and a sender that holds its row may want it: a wait
                                      here, or a scan that meets that row, would close the circle. A
                                      busy entry fails (1222) and is shown. */
                                   WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                               WHERE sc.Handle = @handle)
                        UPDATE @leaked SET Outcome = N'kept: it is in use now' WHERE LeakedId = @id;
                    ELSE
                    BEGIN
                        END CONVERSATION @handle;
                        SET @done = 1;
                    END;
                END;
            END
            /* The far side has ended, so nothing new arrives: once nothing is unread, nothing will
               be. A plain read: it waits for a reader that holds the rows, and so is told the truth. */
            ELSE IF EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
                 OR EXISTS (SELECT 1 FROM [audit].[InitiatorQueue] AS q WHERE q.conversation_handle = @handle)
            BEGIN
                UPDATE @leaked SET Outcome = N'kept: unread messages are left; its activation handles them' WHERE LeakedId = @id;
            END
            ELSE IF EXISTS (SELECT 1 FROM sys.transmission_queue AS tq
                            WHERE tq.conversation_handle = @handle AND tq.is_end_of_dialog = 0 AND tq.is_conversation_error = 0)
            BEGIN
                UPDATE @leaked SET Outcome = N'kept: messages are pending; call usp_ResendPending' WHERE LeakedId = @id;
            END
            ELSE IF @WhatIf = 0
            BEGIN
                END CONVERSATION @handle;
                SET @done = 1;
            END;

            COMMIT TRANSACTION;

            IF @done = 1
                UPDATE @leaked SET Outcome = N'done' WHERE LeakedId = @id;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            UPDATE @leaked SET Outcome = LEFT(CONCAT(N'failed: ', ERROR_MESSAGE()), 400) WHERE LeakedId = @id;
        END CATCH;
    END;

    SELECT l.Handle, l.ConversationId, l.IsInitiator, l.State, l.ConversationKey, l.Action, l.Outcome
    FROM @leaked AS l
    ORDER BY l.LeakedId;

    RETURN 0;
END;
GO
