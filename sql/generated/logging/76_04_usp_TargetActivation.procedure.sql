SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_TargetActivation]
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Lands what arrives, a batch per transaction, and ends a dialog when it is over: the target ends
   first, always. Touches no table a sender writes (F-129). */
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
    DECLARE @rows [logging].[ReceivedBatch];   /* the same, numbered: RECEIVE INTO takes a table variable,
                                           and nobody says one of a type will do (F-161) */
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @ended bit;                 /* an EndOfStream, EndDialog or Error row was seen */
    DECLARE @failed bit;                /* an Error row was seen: unread rows may be behind it */
    DECLARE @more bit;
    DECLARE @phase tinyint;             /* 0 receiving, 1 received */
    DECLARE @suspect uniqueidentifier = NULL;   /* whose batch was rolled back: its first row comes next */
    DECLARE @lockErrors int = 0;        /* rollbacks in a row after 1205 or 1222 (F-367) */

    WHILE 1 = 1
    BEGIN
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
                FROM [logging].[TargetQueue]
                INTO @received
                WHERE conversation_handle = @suspect;
            END
            ELSE
            BEGIN
                WAITFOR (
                    RECEIVE TOP (2000)
                        queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                    FROM [logging].[TargetQueue]
                    INTO @received
                ), TIMEOUT 5000;
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
            SET @conversationId = NULL;
            SELECT @conversationId = ce.conversation_id
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)           /* our own endpoint, under G; ids never change (F-126) */
            WHERE ce.conversation_handle = @handle;

            WHILE @more = 1
            BEGIN
                SET @more = 0;

                IF EXISTS (SELECT 1 FROM @received AS r
                           WHERE r.MessageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
                    SET @failed = 1;
                IF EXISTS (SELECT 1 FROM @received AS r
                           WHERE r.MessageType IN (N'EndOfStream',
                               N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                               N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'))
                    SET @ended = 1;

                /* -------------------------------------------------------------------------------- */
                /* 2  Land the batch: a table variable cannot be a parameter, one of a type can        */
                /* -------------------------------------------------------------------------------- */
                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body
                FROM @received AS r
                ORDER BY r.QueuingOrder;

                EXECUTE [logging].[usp_LandBatch] @conversationId, @handle, @rows;

                DELETE FROM @rows;      /* what fails from here on is no row's fault */

                /* -------------------------------------------------------------------------------- */
                /* 3  An Error row overtakes unread rows, and END would delete them: take them first  */
                /* -------------------------------------------------------------------------------- */
                IF @failed = 1
                BEGIN
                    DELETE FROM @received;
                    RECEIVE TOP (2000)
                        queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                    FROM [logging].[TargetQueue]
                    INTO @received
                    WHERE conversation_handle = @handle;
                    IF EXISTS (SELECT 1 FROM @received)
                        SET @more = 1;
                END;
            END;

            /* ------------------------------------------------------------------------------------ */
            /* 4  End first: the answer to EndOfStream is END, and EndDialog tells the initiator       */
            /* ------------------------------------------------------------------------------------ */
            IF @ended = 1
            BEGIN
                DELETE pa
                FROM [logging].[PoisonAttempt] AS pa
                    WITH (ROWLOCK, FORCESEEK)   /* a scan would wait for other dialogs' rows, under G */
                WHERE pa.ConversationHandle = @handle;
                END CONVERSATION @handle;
            END;

            COMMIT TRANSACTION;

            SELECT @suspect = NULL, @lockErrors = 0;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            IF ERROR_NUMBER() <> 9617   /* the queue is off: somebody's decision and not news */
                EXECUTE [logging].[usp_LogError] @procedureName = N'usp_TargetActivation', @handle = @handle;

            IF @phase = 1 AND (ERROR_SEVERITY() < 17 OR ERROR_NUMBER() >= 50000)
            BEGIN
                SET @lockErrors = CASE WHEN ERROR_NUMBER() IN (1205, 1222) THEN @lockErrors + 1 ELSE 0 END;
                EXECUTE [logging].[usp_FindPoison] @conversationId, @handle, @rows, @lockErrors;
                SET @suspect = @handle;

                IF ERROR_NUMBER() = 1222
                    WAITFOR DELAY '00:00:02';   /* nothing is held; time for whoever holds that lock */
            END
            ELSE
            BEGIN
                /* An error of RECEIVE itself: leave, a loop would spin (F-118). Severity 17 and up,
                   if nobody raised it by hand, is the server's trouble (disk, memory): leave, and blame
                   no row. */
                RETURN 1;
            END;
        END CATCH;
    END;
END;
GO
