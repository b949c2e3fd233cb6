SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_PickConversation]
    @several uniqueidentifier OUTPUT,   /* a batch of this conversation would land */
    @single uniqueidentifier OUTPUT,    /* of this one the first message would */
    @last uniqueidentifier = NULL OUTPUT    /* chosen last: its turn comes last */
AS
/* Redial 0.1.0, configuration orders */
/* Chooses what to receive while a conversation waits for the server's set-up: RECEIVE would take that one again,
   and five rollbacks switch the queue off. Holds nothing. One is looked at, its landing tried and undone; what fails
   for the server's sake waits (PoisonAttempt, -3) and is tried again every 15 seconds.
   Returns 1 with one of both, or 0: none waits any more. Raises 50214 when the queue is switched off. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @handle uniqueidentifier, @conversationId uniqueidentifier, @rows [orders].[ReceivedBatch];
    DECLARE @waits bit = 0;             /* 1: it has waited already */
    DECLARE @size int;                  /* how many of its messages are tried; 0: not even the first would land */

    SELECT @several = NULL, @single = NULL;
    WHILE ISNULL(@several, @single) IS NULL
    BEGIN
        IF NOT EXISTS (SELECT 1 FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -3)
            RETURN 0;
        IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                       WHERE q.object_id = OBJECT_ID(N'[orders].[TargetQueue]') AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            THROW 50214, N'[orders].[TargetQueue] is switched off. Next: switch it on with its activation; what waits is looked at then.', 1;

        /* -- 1  One that has waited long enough, for one reader; else, in turn, one that does not wait. NOLOCK: RECEIVE looks again -- */
        SET @handle = NULL;
        IF @waits = 0
            SELECT TOP (1) @handle = pa.ConversationHandle
            FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK)
            WHERE pa.MessageSequence = -3 AND pa.LastUtc < DATEADD(second, -15, SYSUTCDATETIME())
            ORDER BY pa.LastUtc;
        UPDATE pa
        SET LastUtc = SYSUTCDATETIME()
        FROM [orders].[PoisonAttempt] AS pa WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)    /* one row, or another reader's */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3
          AND pa.LastUtc < DATEADD(second, -15, SYSUTCDATETIME());
        SET @waits = @@ROWCOUNT;

        IF @waits = 0
        BEGIN
            SET @handle = NULL;
            SELECT TOP (1) @handle = q.conversation_handle
            FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
            WHERE NOT EXISTS (SELECT 1 FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK)
                              WHERE pa.ConversationHandle = q.conversation_handle AND pa.MessageSequence = -3)
            ORDER BY CASE WHEN q.conversation_handle > @last THEN 0 ELSE 1 END, q.conversation_handle;
            SET @last = @handle;
        END;

        IF @handle IS NULL
        BEGIN
            WAITFOR DELAY '00:00:05';
            CONTINUE;
        END;

        /* -- 2  Would it land? A batch, else its first message; with an Error row all or nothing -- */
        SET @conversationId = NULL;
        SELECT @conversationId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* never changes */
        WHERE ce.conversation_handle = @handle;

        SET @size = CASE WHEN EXISTS (SELECT 1 FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
                                      WHERE q.conversation_handle = @handle AND q.message_type_name = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            THEN 2147483647 ELSE 100 END;
        WHILE @size > 0
        BEGIN
            DELETE FROM @rows;
            INSERT INTO @rows (MessageSequence, MessageType, Body)
            SELECT TOP (@size) ISNULL(q.message_sequence_number, -1), ISNULL(q.message_type_name, N''), q.message_body
            FROM [orders].[TargetQueue] AS q WITH (NOLOCK)
            WHERE q.conversation_handle = @handle
            ORDER BY q.queuing_order;

            BEGIN TRY
                BEGIN TRANSACTION;
                EXECUTE [orders].[usp_LandBatch] @conversationId, @handle, @rows, @rehearse = 1;
                ROLLBACK TRANSACTION;
                BREAK;
            END TRY
            BEGIN CATCH
                IF @@TRANCOUNT > 0
                    ROLLBACK TRANSACTION;
                IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
                    BREAK;              /* a message's own: who receives it finds it */

                SET @size = CASE WHEN @size BETWEEN 2 AND 100 THEN 1 ELSE 0 END;
                IF @size = 0 AND @waits = 0
                    EXECUTE [orders].[usp_LogError] @procedureName = N'usp_PickConversation', @handle = @handle;
                IF @size = 0
                    EXECUTE [orders].[usp_RecordPoison] @handle, -3, N'waits', 0;
            END CATCH;
        END;

        /* A batch would land: it waits no more. Its first message would: the next at once. */
        IF @waits = 1 AND @size >= 100
            DELETE pa
            FROM [orders].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3;
        ELSE IF @waits = 1 AND @size = 1
            UPDATE pa
            SET LastUtc = DATEADD(minute, -1, SYSUTCDATETIME())
            FROM [orders].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3;
        IF @size >= 100 AND EXISTS (SELECT 1 FROM @rows)
            SET @several = @handle;
        ELSE IF @size = 1 AND EXISTS (SELECT 1 FROM @rows)
            SET @single = @handle;
    END;

    RETURN 1;
END;
GO
