SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_PickConversation]
    @several uniqueidentifier OUTPUT,   /* a batch of this conversation would land; both NULL: none waits any more */
    @single uniqueidentifier OUTPUT     /* of this one the first message would */
AS
/* Redial 0.1.0, configuration orders */
/* Chooses what to receive while a conversation waits for somebody to mend the server's set-up: RECEIVE would take
   that one again and again, and five rollbacks switch the queue off. Holds nothing. One is chosen by looking, its
   landing tried and always undone; what fails for the set-up waits (PoisonAttempt, number -3) and is tried again
   every 15 seconds. What stands before the message that cannot land is received one by one.
   Returns 0, or 1 when the queue was switched off meanwhile. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @waits bit;                 /* 1: it has waited already */
    DECLARE @tried bit;                 /* 1: all of a batch was tried, now its first message is */
    DECLARE @rows [orders].[ReceivedBatch];

    SELECT @several = NULL, @single = NULL;

    WHILE ISNULL(@several, @single) IS NULL
    BEGIN
        BEGIN TRY
            IF NOT EXISTS (SELECT 1
                           FROM sys.service_queues AS q
                           WHERE q.object_id = OBJECT_ID(N'[orders].[TargetQueue]')
                             AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
                RETURN 1;

            /* ------------------------------------------------------------------------------------- */
            /* 1  One that has waited long enough, else one that does not wait. NOLOCK: waits for no      */
            /*    reader, and RECEIVE looks again                                                         */
            /* ------------------------------------------------------------------------------------- */
            SELECT @handle = NULL, @waits = 0, @tried = 0;
            DELETE FROM @rows;

            SELECT TOP (1) @handle = pa.ConversationHandle, @waits = 1
            FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK)
            WHERE pa.MessageSequence = -3
              AND pa.LastUtc < DATEADD(second, -15, SYSUTCDATETIME())
              AND EXISTS (SELECT 1 FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
                          WHERE q.conversation_handle = pa.ConversationHandle)
            ORDER BY pa.LastUtc;

            IF @handle IS NULL
                SELECT TOP (1) @handle = q.conversation_handle
                FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
                WHERE NOT EXISTS (SELECT 1 FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK)
                                  WHERE pa.ConversationHandle = q.conversation_handle AND pa.MessageSequence = -3);

            IF @handle IS NULL
            BEGIN
                /* Marks of what was ended meanwhile. READPAST: what a reader is at work on is no such. */
                DELETE pa
                FROM [orders].[PoisonAttempt] AS pa
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                WHERE pa.MessageSequence = -3
                  AND NOT EXISTS (SELECT 1 FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
                                  WHERE q.conversation_handle = pa.ConversationHandle);
                IF NOT EXISTS (SELECT 1 FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -3)
                    RETURN 0;
                WAITFOR DELAY '00:00:05';
                CONTINUE;
            END;

            /* ------------------------------------------------------------------------------------- */
            /* 2  Would it land? All of a batch, else its first message                                   */
            /* ------------------------------------------------------------------------------------- */
            SELECT @conversationId = ce.conversation_id
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)               /* never changes */
            WHERE ce.conversation_handle = @handle;

            INSERT INTO @rows (MessageSequence, MessageType, Body)
            SELECT TOP (100) ISNULL(q.message_sequence_number, -1), ISNULL(q.message_type_name, N''), q.message_body
            FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
            WHERE q.conversation_handle = @handle
            ORDER BY q.queuing_order;

            WHILE 1 = 1
            BEGIN
                BEGIN TRY
                    BEGIN TRANSACTION;
                    EXECUTE [orders].[usp_LandBatch] @conversationId, @handle, @rows;
                    ROLLBACK TRANSACTION;
                    IF @tried = 1
                        SET @single = @handle;
                    ELSE
                        SET @several = @handle;
                    BREAK;
                END TRY
                BEGIN CATCH
                    IF @@TRANCOUNT > 0
                        ROLLBACK TRANSACTION;

                    IF NOT ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009)
                    BEGIN
                        SET @several = @handle;     /* another error: who receives it finds what */
                        BREAK;
                    END;

                    IF @waits = 0
                        EXECUTE [orders].[usp_LogError] @procedureName = N'usp_PickConversation', @handle = @handle;
                    SET @waits = 1;
                    EXECUTE [orders].[usp_RecordPoison] @handle, -3, N'waits', 0;
                    IF @tried = 1
                        BREAK;
                    SET @tried = 1;
                    DELETE FROM @rows WHERE RowId > (SELECT MIN(r.RowId) FROM @rows AS r);
                END CATCH;
            END;

            /* Nothing waits in it any more; or what is behind the first message is looked at next. */
            IF @several IS NOT NULL AND @waits = 1
                DELETE pa
                FROM [orders].[PoisonAttempt] AS pa
                    WITH (ROWLOCK, FORCESEEK)   /* one row */
                WHERE pa.ConversationHandle = @several AND pa.MessageSequence = -3;
            UPDATE pa
            SET LastUtc = DATEADD(minute, -1, pa.LastUtc)
            FROM [orders].[PoisonAttempt] AS pa
                WITH (ROWLOCK, FORCESEEK)       /* one row */
            WHERE pa.ConversationHandle = @single AND pa.MessageSequence = -3;
        END TRY
        BEGIN CATCH
            /* A lock, say, or no room: once more, and never by way of the RECEIVE. */
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            EXECUTE [orders].[usp_LogError] @procedureName = N'usp_PickConversation', @handle = @handle;
            WAITFOR DELAY '00:00:05';
        END CATCH;
    END;

    RETURN 0;
END;
GO
