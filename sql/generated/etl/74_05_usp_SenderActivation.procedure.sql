SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_SenderActivation]
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Empties the initiator's queue: EndDialog and Error end it. One message per
   transaction, which owns the conversation group only; R is for a second transaction, behind it. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* what an error does is decided below */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @handle uniqueidentifier, @messageType nvarchar(256), @sequence bigint, @body varbinary(max),
        @poisoned bit;
    DECLARE @attempts int;              /* how often this message was rolled back */
    DECLARE @inside bit = 1;            /* 0: a lock was met, end no dialog inside a RECEIVE */
    DECLARE @left int;                  /* 1: the dialog was not ended in transaction 1 */
    DECLARE @stays int = 0;             /* 1: one that was not is still there */
    DECLARE @rung bit = 0;              /* 1: a timer was received */
    DECLARE @phase tinyint = 0;         /* 0 receiving, 1 received, 2 transaction 1 committed */
    DECLARE @rollbacks int = 0;         /* receives rolled back in a row */
    DECLARE @queueId int = OBJECT_ID(N'[etl].[InitiatorQueue]');
    DECLARE @until datetime2(3) = DATEADD(minute, 10, SYSUTCDATETIME());    /* then it is started again: nothing grows for ever */

    WHILE @rollbacks > 0 OR @stays = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        IF @phase = 2
            SET @rollbacks = 0;
        SET @handle = NULL;             /* RECEIVE without a row leaves it alone */
        SET @phase = 0;

        BEGIN TRY
            /* -- 1  Transaction 1: receive. From here on G is ours -- */
            BEGIN TRANSACTION;
            RECEIVE TOP (1) @handle = conversation_handle, @messageType = message_type_name, @sequence = message_sequence_number, @body = message_body
            FROM [etl].[InitiatorQueue];

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                SELECT @phase = 2, @stays = 0;
                /* What is left, by a killed reader too: it stays until all is done. */
                IF EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -4)
                    EXECUTE @stays = [etl].[usp_ResendLeft];

                /* A timer also stands for dialogs that were ended by hand. */
                IF @rung = 1
                BEGIN
                    SET @rung = 0;
                    EXECUTE [etl].[usp_ResendStranded] @endsToo = 0;
                END;
                IF @stays = 0
                    RETURN 0;
                WAITFOR DELAY '00:00:05';
                CONTINUE;
            END;

            SET @phase = 1;
            SET @sequence = ISNULL(@sequence, -1);   /* of a timer: not documented */
            SET @messageType = ISNULL(@messageType, N'');   /* the type may be dropped */
            SET @attempts = 0;
            SELECT @attempts = pa.Attempts
            FROM [etl].[PoisonAttempt] AS pa WITH (FORCESEEK)  /* under G: no scan */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = @sequence AND pa.MessageType = @messageType;
            SET @poisoned = CASE WHEN @attempts >= 1 THEN 1 ELSE 0 END;

            /* -- 2  Timer: for a dialog that was gone (usp_BeginConversation), or only to take G -- */
            IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer'
            BEGIN
                SET @rung = 1;
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* -- 3  Ending failed even without a resend: set aside, below the five rollbacks -- */
            ELSE IF @attempts >= 2
            BEGIN
                INSERT INTO [etl].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N'initiator', @handle, @sequence, @messageType, @body,
                     N'Not ended, see ErrorLog for this handle. Next: usp_ResendPending with it.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* -- 4  EndDialog, Error: end under G where all has landed; else in a transaction of its own -- */
            ELSE IF @messageType IN (N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                                     N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            BEGIN
                EXECUTE @left = [etl].[usp_EndInitiator] @handle, @messageType, @sequence, @body, @inside;
                COMMIT TRANSACTION;
                SET @phase = 2;
                EXECUTE [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
                IF @left <> 0
                    EXECUTE @stays = [etl].[usp_ResendLeft];
            END
            /* -- 5  Nothing else is in the contract for this side: kept, not dropped -- */
            ELSE
            BEGIN
                INSERT INTO [etl].[DeadLetter]
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
            IF ERROR_NUMBER() <> 9617   /* the queue is off: no news */
                EXECUTE [etl].[usp_LogError] @procedureName = N'usp_SenderActivation', @handle = @handle, @sequence = @sequence;

            /* The server's trouble or a lock: wait, holding nothing. RECEIVE's own error: leave, a loop would spin. */
            SET @left = CASE @phase WHEN 0 THEN 1 ELSE 0 END;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                EXECUTE @left = [etl].[usp_WaitForServer] @handle, @queueId;
            IF @left <> 0
                RETURN 1;
            IF @phase = 0
            BEGIN
                SET @until = DATEADD(minute, 10, SYSUTCDATETIME());
                CONTINUE;
            END;

            SET @stays = 1;             /* look for what is left before leaving */
            /* A lock, or a dialog ended meanwhile, is not the message's fault, unless it goes on: five rollbacks. */
            IF @phase = 1
                SELECT @rollbacks = @rollbacks + 1,
                    @inside = CASE WHEN ERROR_NUMBER() IN (1205, 1222) THEN 0 ELSE @inside END;
            SET @attempts = CASE WHEN NOT (ERROR_NUMBER() IN (8426, 8427) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))) THEN 1
                                 WHEN @rollbacks > 2 THEN 2 ELSE 0 END;
            IF @phase = 1 AND @attempts > 0
                EXECUTE [etl].[usp_RecordPoison] @handle = @handle, @sequence = @sequence,
                    @messageType = @messageType, @attempts = @attempts;
        END CATCH;
    END;

    RETURN 0;
END;
GO
