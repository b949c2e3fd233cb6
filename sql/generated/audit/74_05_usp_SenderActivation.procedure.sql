SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SenderActivation]
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Empties the initiator's queue: timers recycle a dialog, EndDialog and Error end it. One message per
   transaction, and that transaction owns the conversation group only; the row R is the business of a
   second transaction, after the first has committed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* what a refused timer or a failed resend does is decided below */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @handle uniqueidentifier, @messageType nvarchar(256), @sequence bigint, @body varbinary(max),
        @poisoned bit;
    DECLARE @attempts int;              /* how often this message rolled its transaction back */
    DECLARE @inside bit = 1;            /* 0: we have met a lock, and end no dialog inside of a RECEIVE any more */
    DECLARE @left int;                  /* 1: the dialog was not ended in transaction 1 */
    DECLARE @stays int = 0;             /* 1: one that was not is still there */
    DECLARE @rung bit = 0;              /* 1: a timer was received */
    DECLARE @result int;
    DECLARE @waitMs int;
    DECLARE @phase tinyint = 0;         /* 0 receiving, 1 received, 2 transaction 1 committed */
    DECLARE @rollbacks int = 0;         /* how many receives in a row were rolled back */
    DECLARE @queueId int = OBJECT_ID(N'[audit].[InitiatorQueue]');
    /* Then it leaves and is started again: nothing in it can grow for ever. */
    DECLARE @until datetime2(3) = DATEADD(minute, 10, SYSUTCDATETIME());

    WHILE @rollbacks > 0 OR @stays = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        IF @phase = 2
            SET @rollbacks = 0;
        SET @handle = NULL;             /* RECEIVE leaves variables alone when there is no row */
        SET @phase = 0;

        BEGIN TRY
            /* -- 1  Transaction 1: receive. From here on G is ours -- */
            BEGIN TRANSACTION;

            RECEIVE TOP (1)
                @handle = conversation_handle,
                @messageType = message_type_name,
                @sequence = message_sequence_number,
                @body = message_body
            FROM [audit].[InitiatorQueue];

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                SELECT @phase = 2, @stays = 0;
                /* What is left, by a reader that was killed too. It stays until all is done: nobody else may
                   come. NOLOCK: it looks again. */
                IF EXISTS (SELECT 1 FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -4)
                    EXECUTE @stays = [audit].[usp_ResendLeft];

                /* A timer also stands for what nobody is told of: dialogs that were ended by hand. */
                IF @rung = 1
                BEGIN
                    SET @rung = 0;
                    EXECUTE [audit].[usp_ResendStranded] @endsToo = 0;
                END;
                IF @stays = 0
                    RETURN 0;
                WAITFOR DELAY '00:00:05';
                CONTINUE;
            END;

            SET @phase = 1;
            SET @sequence = ISNULL(@sequence, -1);   /* of a timer or broker error: not documented */
            SET @messageType = ISNULL(@messageType, N'');   /* the type may be dropped by now */

            SET @attempts = 0;
            SELECT @attempts = pa.Attempts
            FROM [audit].[PoisonAttempt] AS pa
                WITH (FORCESEEK)        /* a scan would wait for other dialogs' rows, under G */
            WHERE pa.ConversationHandle = @handle
              AND pa.MessageSequence = @sequence
              AND pa.MessageType = @messageType;
            SET @poisoned = CASE WHEN @attempts >= 1 THEN 1 ELSE 0 END;

            /* -- 2  Timer: re-arm, commit (G is free again), only then look at R -- */
            IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer'
            BEGIN
                SET @rung = 1;

                /* Re-armed without looking: a read of R here would be G then R. The new timer is what
                   retries after a crash, a kill or a busy row. */
                IF @poisoned = 0
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;

                COMMIT TRANSACTION;
                SET @phase = 2;

                /* A row that senders hand on to each other is never found free. A dialog that is overdue
                   queues up with them for a second, holding nothing. In vain only behind a sender met
                   between look-up and SEND whose transaction goes on: one that has sent holds G, and
                   its timer is not even received. */
                SET @waitMs = 0;
                IF EXISTS (SELECT 1
                           FROM [audit].[ConversationLog] AS cl
                               WITH (NOLOCK)        /* when it was begun never changes: wait for nobody */
                           WHERE cl.Handle = @handle
                             AND cl.BegunUtc < DATEADD(second, -4245, SYSUTCDATETIME()))
                    SET @waitMs = 1000;

                EXECUTE @result = [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1,
                    @waitMs = @waitMs;

                /* Re-arming failed once, so it was kept out of transaction 1; but a busy row must be
                   asked again, or the dialog is never recycled. Here a failure is only logged. */
                IF @poisoned = 1 AND @result IN (1, 2)
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
            END
            /* -- 3  Ending failed even without a resend: set aside, below the five rollbacks -- */
            ELSE IF @attempts >= 2
            BEGIN
                INSERT INTO [audit].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N'initiator', @handle, @sequence, @messageType, @body,
                     N'Not ended, see ErrorLog for this handle. Next: usp_ResendPending with it.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* -- 4  EndDialog, Error: end under G where all has landed. What has not is accounted for in a
                     transaction of its own, since that may wait for others -- */
            ELSE IF @messageType IN (N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                                     N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            BEGIN
                EXECUTE @left = [audit].[usp_EndInitiator] @handle, @messageType, @sequence, @body, @inside;
                COMMIT TRANSACTION;
                SET @phase = 2;

                EXECUTE [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
                IF @left <> 0
                    EXECUTE @stays = [audit].[usp_ResendLeft];
            END
            /* -- 5  Nothing else is in the contract for this side: kept, not dropped -- */
            ELSE
            BEGIN
                INSERT INTO [audit].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N'initiator', @handle, @sequence, @messageType, @body,
                     N'Unexpected message type on the initiator''s queue.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 9617, the queue is off, is somebody's decision and not news. */
            IF ERROR_NUMBER() <> 9617
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_SenderActivation',
                    @handle = @handle, @sequence = @sequence;

            /* The server's trouble (disk, memory) or a lock, not the message's: wait until it is over, holding
               nothing. Any other error of RECEIVE itself: leave, a loop would spin. */
            SET @left = CASE @phase WHEN 0 THEN 1 ELSE 0 END;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                EXECUTE @left = [audit].[usp_WaitForServer] @handle, @queueId;
            IF @left <> 0
                RETURN 1;
            IF @phase = 0
            BEGIN
                SET @until = DATEADD(minute, 10, SYSUTCDATETIME());
                CONTINUE;
            END;

            SET @stays = 1;             /* what may be left is looked for before it leaves */

            /* A deadlock, a lock that was waited for in vain, a dialog that somebody ended meanwhile: not
               the message's fault either, unless it goes on, for five rollbacks switch the queue off. */
            IF @phase = 1
                SELECT @rollbacks = @rollbacks + 1,
                    @inside = CASE WHEN ERROR_NUMBER() IN (1205, 1222) THEN 0 ELSE @inside END;
            SET @attempts = CASE WHEN NOT (ERROR_NUMBER() IN (8426, 8427) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))) THEN 1
                                 WHEN @rollbacks > 2 THEN 2 ELSE 0 END;
            IF @phase = 1 AND @attempts > 0
                EXECUTE [audit].[usp_RecordPoison] @handle = @handle, @sequence = @sequence,
                    @messageType = @messageType, @attempts = @attempts;
        END CATCH;
    END;

    RETURN 0;
END;
GO
