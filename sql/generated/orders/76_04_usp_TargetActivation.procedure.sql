SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_TargetActivation]
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Lands what arrives, a batch per transaction, and ends a dialog when it is over: the target ends
   first, always. Of the tables senders write it touches SentMessage, and there what no sender does any more:
   the copies of messages that have arrived (F-461). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone to a savepoint, not doomed */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    /* No key and no NOT NULL beyond the handle: nobody promises that queuing_order is unique, or that
       a system message has one (F-141), and an error here would be one of RECEIVE itself. */
    DECLARE @received TABLE
    (
        QueuingOrder bigint NULL,
        Handle uniqueidentifier NOT NULL,
        MessageSequence bigint NULL,
        MessageType nvarchar(256) NULL, /* NULL: its message type was dropped meanwhile */
        Body varbinary(max) NULL
    );
    DECLARE @rows [orders].[ReceivedBatch];   /* the same, numbered: RECEIVE INTO takes a table variable,
                                           and nobody says one of a type will do (F-161) */
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @state char(2);
    DECLARE @ended bit;                 /* EndOfStream was seen, or that the sender's side has ended */
    DECLARE @failed bit;                /* an Error row was seen: unread rows may be behind it */
    DECLARE @errorBody varbinary(max);
    DECLARE @code int;
    DECLARE @description nvarchar(3000);
    DECLARE @more bit;
    DECLARE @phase tinyint;             /* 0 receiving, 1 received */
    DECLARE @suspect uniqueidentifier = NULL;   /* whose batch was rolled back: its first row comes next */
    DECLARE @lockErrors int = 0;        /* rollbacks in a row after 1205 or 1222 (F-367) */
    DECLARE @turn int = -1;             /* 0 and up: this session may roll back, the others wait */
    DECLARE @turnName nvarchar(60) = CONCAT(N'Redial poison ', OBJECT_ID(N'[orders].[TargetQueue]'));

    WHILE 1 = 1
    BEGIN
        /* Something has committed since this reader's rollback: the next one's turn. */
        IF @turn >= 0 AND @suspect IS NULL
        BEGIN
            EXECUTE sys.sp_releaseapplock @Resource = @turnName, @LockOwner = N'Session';
            SET @turn = -1;
        END;

        SET @phase = 0;
        DELETE FROM @received;
        DELETE FROM @rows;              /* no batch, nobody to blame in CATCH */

        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 1  Receive. All rows are of one conversation: groups of this side hold one (F-105)     */
            /* ------------------------------------------------------------------------------------ */
            BEGIN TRANSACTION;

            IF @suspect IS NOT NULL
            BEGIN
                /* One row: it lands or is dead-lettered, so this commits, and a rollback is followed by
                   a commit whatever the other conversations hold (F-162). */
                RECEIVE TOP (1)
                    queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [orders].[TargetQueue]
                INTO @received
                WHERE conversation_handle = @suspect;
            END
            ELSE
            BEGIN
                WAITFOR (
                    RECEIVE TOP (100)
                        queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                    FROM [orders].[TargetQueue]
                    INTO @received
                ), TIMEOUT 1000;
            END;

            SET @handle = NULL;
            SELECT TOP (1) @handle = r.Handle FROM @received AS r;

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                IF @suspect IS NULL
                    RETURN 0;

                SELECT @suspect = NULL, @lockErrors = 0;    /* another reader took its rows */
                CONTINUE;
            END;

            SET @phase = 1;
            SET @ended = 0;
            SET @failed = 0;
            SET @more = 1;
            SELECT @conversationId = NULL, @state = NULL, @code = NULL;
            SELECT @conversationId = ce.conversation_id, @state = ce.state
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)           /* our own endpoint, under G (F-126) */
            WHERE ce.conversation_handle = @handle;

            WHILE @more = 1
            BEGIN
                SET @more = 0;

                SET @errorBody = NULL;
                SELECT @failed = 1, @errorBody = r.Body
                FROM @received AS r
                WHERE r.MessageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error';
                IF @errorBody IS NOT NULL
                    EXECUTE [orders].[usp_ReadErrorBody] @messageBody = @errorBody,
                        @code = @code OUTPUT, @description = @description OUTPUT;
                /* A positive code is of somebody who ended the sender's side. */
                IF @code > 0
                   OR EXISTS (SELECT 1 FROM @received AS r
                              WHERE r.MessageType IN (N'EndOfStream',
                                  N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'))
                    SET @ended = 1;

                /* -------------------------------------------------------------------------------- */
                /* 2  Land the batch: a table variable cannot be a parameter, one of a type can        */
                /* -------------------------------------------------------------------------------- */
                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body
                FROM @received AS r
                ORDER BY r.QueuingOrder;

                /* The sender's copies: what this transaction accounts for need not be sent again. First,
                   so that a hook that commits the RECEIVE commits this with it. Each by its key: a range
                   would ask for the next key too, which a sender may just be writing (F-461). The
                   broker's own rows may have a number that is a message's (F-141). */
                DELETE sm
                FROM @rows AS r
                INNER LOOP JOIN [orders].[SentMessage] AS sm
                        WITH (ROWLOCK, FORCESEEK)
                    ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
                WHERE r.MessageType NOT IN (N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                    N'http://schemas.microsoft.com/SQL/ServiceBroker/Error');

                EXECUTE [orders].[usp_LandBatch] @conversationId, @handle, @rows;

                DELETE FROM @rows;      /* what fails from here on is no row's fault */

                /* -------------------------------------------------------------------------------- */
                /* 3  An Error row overtakes unread rows, and END would delete them: take them first  */
                /* -------------------------------------------------------------------------------- */
                IF @failed = 1
                BEGIN
                    DELETE FROM @received;
                    RECEIVE TOP (100)
                        queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                    FROM [orders].[TargetQueue]
                    INTO @received
                    WHERE conversation_handle = @handle;
                    IF EXISTS (SELECT 1 FROM @received)
                        SET @more = 1;
                END;
            END;

            /* ------------------------------------------------------------------------------------ */
            /* 4  End first: the answer to EndOfStream is END, and EndDialog tells the initiator       */
            /* ------------------------------------------------------------------------------------ */
            /* An error of the broker's own (a negative code: the lifetime is over, say) is told to both
               sides, and a sender may still have a message on the way in an open transaction. So it is
               the sender's side that ends both, when its senders are done (F-462); unless it is gone. */
            IF @failed = 1 AND @ended = 0
               AND NOT EXISTS (SELECT 1
                               FROM sys.conversation_endpoints AS ce
                                   WITH (NOLOCK)    /* waits for no sender (F-126) */
                               WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1)
                SET @ended = 1;

            /* One that is CLOSED or gone has been ended by somebody else: nothing is left to end (8426). */
            IF @ended = 1 AND ISNULL(@state, 'CD') <> 'CD'
            BEGIN
                DELETE pa
                FROM [orders].[PoisonAttempt] AS pa
                    WITH (ROWLOCK, FORCESEEK)   /* a scan would wait for other dialogs' rows, under G */
                WHERE pa.ConversationHandle = @handle;
                END CONVERSATION @handle;
            END;

            COMMIT TRANSACTION;

            SELECT @suspect = NULL, @lockErrors = 0;
        END TRY
        BEGIN CATCH
            /* ------------------------------------------------------------------------------------ */
            /* 5  Before it rolls back a reader takes its turn, and keeps it until it has committed    */
            /*    something: readers that meet doomed rows together would reach five rollbacks in a    */
            /*    row (F-162). The session's lock, for it outlives the rollback. Refused or timed out: */
            /*    on without it. Not after a deadlock: the others wait for what is held here.          */
            /* ------------------------------------------------------------------------------------ */
            IF @phase = 1 AND @turn < 0 AND ERROR_NUMBER() <> 1205
               AND (ERROR_SEVERITY() < 17 OR ERROR_NUMBER() >= 50000)
            BEGIN
                BEGIN TRY
                    EXECUTE @turn = sys.sp_getapplock @Resource = @turnName, @LockMode = N'Exclusive',
                        @LockOwner = N'Session', @LockTimeout = 10000;
                END TRY
                BEGIN CATCH
                    SET @turn = -1;
                END CATCH;
            END;

            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            IF ERROR_NUMBER() <> 9617   /* the queue is off: somebody's decision and not news */
                EXECUTE [orders].[usp_LogError] @procedureName = N'usp_TargetActivation', @handle = @handle;

            IF @phase = 1 AND (ERROR_SEVERITY() < 17 OR ERROR_NUMBER() >= 50000)
            BEGIN
                SET @lockErrors = CASE WHEN ERROR_NUMBER() IN (1205, 1222) THEN @lockErrors + 1 ELSE 0 END;
                EXECUTE [orders].[usp_FindPoison] @conversationId, @handle, @rows, @lockErrors;
                SET @suspect = @handle;

                IF ERROR_NUMBER() = 1222
                    WAITFOR DELAY '00:00:02';   /* nothing is held; time for whoever holds that lock */
            END
            ELSE
            BEGIN
                /* An error of RECEIVE itself: leave, a loop would spin (F-118). Severity 17 and up,
                   if nobody raised it by hand, is the server's trouble (disk, memory): leave, and blame
                   no row. */
                IF @turn >= 0
                    EXECUTE sys.sp_releaseapplock @Resource = @turnName, @LockOwner = N'Session';
                RETURN 1;
            END;
        END CATCH;
    END;
END;
GO
