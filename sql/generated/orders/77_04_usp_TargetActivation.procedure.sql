SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_TargetActivation]
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Lands what arrives, a batch per transaction, and ends a dialog when it is over: the target ends
   first, always. Of senders' tables it
   touches SentMessage only: the copies of messages that have arrived. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone, not doomed */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 30000;             /* nobody holds messages and waits for ever */

    DECLARE @received TABLE (QueuingOrder bigint NULL, Handle uniqueidentifier NOT NULL,    /* nothing is promised: NULLs, no key */
        MessageSequence bigint NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL);
    DECLARE @handle uniqueidentifier, @conversationId uniqueidentifier, @state char(2),
        @errorBody varbinary(max);
    DECLARE @rows [orders].[ReceivedBatch];   /* numbered; RECEIVE INTO may not take it */
    DECLARE @ended bit;                 /* EndOfStream or the sender's end was seen */
    DECLARE @failed bit;                /* an Error row was seen: unread ones may follow */
    DECLARE @messages int;              /* of senders, in this batch */
    DECLARE @phase tinyint;             /* 0 receiving, 1 received, 2 landed */
    DECLARE @suspect uniqueidentifier;  /* rolled back: its first row comes next */
    DECLARE @careful bit;               /* 1: one waits for the server's set-up */
    DECLARE @chosen uniqueidentifier;   /* usp_PickConversation's last one */
    DECLARE @spared uniqueidentifier;   /* its END has failed: not asked again */
    DECLARE @left int;
    DECLARE @turn int;                  /* 0 and up: this session may roll back */
    DECLARE @until datetime2(3);        /* then it is started again: nothing grows for ever */

    SELECT @until = DATEADD(minute, 10, SYSUTCDATETIME()), @turn = -1,
        @careful = CASE WHEN EXISTS (SELECT 1 FROM [orders].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -3) THEN 1 ELSE 0 END;
    WHILE @suspect IS NOT NULL OR @careful = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        IF @turn >= 0 AND @suspect IS NULL     /* something has committed: the next one's turn */
            EXECUTE @turn = [orders].[usp_TakeTurn] @take = 0;
        SELECT @phase = 0, @handle = NULL, @failed = 0, @ended = 0, @errorBody = NULL, @conversationId = NULL, @state = NULL;
        DELETE FROM @received;

        BEGIN TRY
            /* -- 1  Receive. All rows are of one conversation: groups of this side hold one -- */
            IF @careful = 1 AND @suspect IS NULL    /* not the one that waits: chosen by looking */
                EXECUTE @careful = [orders].[usp_PickConversation] @handle OUTPUT, @suspect OUTPUT, @chosen OUTPUT;
            BEGIN TRANSACTION;
            IF ISNULL(@suspect, @handle) IS NULL
                WAITFOR (RECEIVE TOP (100) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                         FROM [orders].[TargetQueue] INTO @received), TIMEOUT 1000;
            /* Of a suspect one row: it lands or is dead-lettered, so this commits. */
            ELSE IF @suspect IS NOT NULL
                RECEIVE TOP (1) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [orders].[TargetQueue] INTO @received WHERE conversation_handle = @suspect;
            ELSE
                RECEIVE TOP (100) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [orders].[TargetQueue] INTO @received WHERE conversation_handle = @handle;

            SELECT TOP (1) @handle = r.Handle, @phase = 1 FROM @received AS r;
            IF @phase = 0
            BEGIN
                COMMIT TRANSACTION;
                IF @suspect IS NULL AND @careful = 0
                    RETURN 0;
                IF @careful = 1
                    WAITFOR DELAY '00:00:01';   /* another reader has it: do not spin */
                SELECT @suspect = NULL;    /* another reader took its rows */
                CONTINUE;
            END;

            SELECT @conversationId = ce.conversation_id, @state = ce.state
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own endpoint, under G */
            WHERE ce.conversation_handle = @handle;

            WHILE 1 = 1
            BEGIN
                SELECT @failed = @failed | MAX(CASE r.MessageType WHEN N'http://schemas.microsoft.com/SQL/ServiceBroker/Error' THEN 1 ELSE 0 END),
                    @messages = SUM(CASE WHEN r.MessageType IN (N'EndOfStream',
                        N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                        N'http://schemas.microsoft.com/SQL/ServiceBroker/Error') THEN 0 ELSE 1 END),
                    @ended = @ended | MAX(CASE WHEN r.MessageType IN (N'EndOfStream',
                        N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog') THEN 1 ELSE 0 END)
                FROM @received AS r;

                /* -- 2  Land the batch -- */
                /* The sender's copies, first: a hook that commits the RECEIVE commits this. By key, for a range may
                   meet a sender's new one; by content, for the number is the sender's count. */
                SAVE TRANSACTION RedialBeforeCopies;
                DELETE sm
                FROM @received AS r
                INNER JOIN [orders].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
                    ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
                WHERE sm.MessageType = ISNULL(r.MessageType, sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(r.Body, 0x)
                OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */
                IF @@ROWCOUNT < @messages
                BEGIN
                    ROLLBACK TRANSACTION RedialBeforeCopies;
                    INSERT INTO @rows (MessageSequence, MessageType, Body)
                    SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
                    EXECUTE [orders].[usp_DropCopies] @conversationId, @handle, @rows;
                    DELETE FROM @rows;
                END;

                /* As one and at once, unless something is known against a row of this dialog. */
                IF NOT EXISTS (SELECT 1 FROM [orders].[PoisonAttempt] AS pa WITH (FORCESEEK) WHERE pa.ConversationHandle = @handle)
                BEGIN
                    BEGIN TRY
                        INSERT INTO [orders].[Landing]
                            (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
                             ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
                        SELECT @conversationId, @handle, ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), e.Body,
                            e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
                        FROM @received AS r
                        CROSS APPLY [orders].[ufn_ReadEnvelope](r.Body) AS e
                        ORDER BY r.QueuingOrder;
                        SET @phase = 2;
                    END TRY
                    BEGIN CATCH
                        /* Doomed, the server's trouble, or a lock: section 5. */
                        IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
                            THROW;
                    END CATCH;
                END;

                IF @phase = 1
                BEGIN
                    INSERT INTO @rows (MessageSequence, MessageType, Body)
                    SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
                    EXECUTE [orders].[usp_LandBatch] @conversationId, @handle, @rows;
                    DELETE FROM @rows;
                    SET @phase = 2;     /* what fails from here on is no row's fault */
                END;

                /* -- 3  An Error row overtakes unread rows, which END would delete: take them first -- */
                IF @failed = 0
                    BREAK;
                SELECT @errorBody = r.Body FROM @received AS r WHERE r.MessageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error';
                DELETE FROM @received;
                RECEIVE TOP (100) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [orders].[TargetQueue] INTO @received WHERE conversation_handle = @handle;
                IF NOT EXISTS (SELECT 1 FROM @received)
                    BREAK;
                SET @phase = 1;
            END;

            /* -- 4  End -- */
            IF @failed = 1 OR @ended = 1
                EXECUTE [orders].[usp_EndTarget] @handle, @conversationId, @state, @errorBody, @spared, @ended OUTPUT;

            COMMIT TRANSACTION;
            SELECT @suspect = NULL;
        END TRY
        BEGIN CATCH
            /* -- 5  Before it rolls back for a row's sake a reader takes its turn -- */
            IF @phase <> 0 AND @turn < 0 AND (@phase = 2 OR NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009)))
                EXECUTE @turn = [orders].[usp_TakeTurn] @take = 1;

            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() NOT IN (9617, 50214)      /* the queue is off: no news */
                EXECUTE [orders].[usp_LogError] @procedureName = N'usp_TargetActivation', @handle = @handle;

            /* RECEIVE itself: leave, do not spin; unless it passes, or the chosen one is gone. */
            IF @phase = 0 AND NOT (ERROR_NUMBER() = 8426 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
                BREAK;

            /* Behind its landing: twice, and it is not ended here any more. */
            IF @phase = 2 AND @suspect = @handle
                SET @spared = @handle;
            SET @suspect = CASE WHEN @phase > 0 OR ERROR_NUMBER() <> 8426 THEN ISNULL(@handle, @suspect) END;   /* NULL: RECEIVE failed */

            IF @phase = 1 AND NOT EXISTS (SELECT 1 FROM @rows)
                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
            EXECUTE @left = [orders].[usp_FindPoison] @conversationId, @handle, @rows;
            DELETE FROM @rows;
            IF @left = 1
                BREAK;
            IF @left = 2
                SELECT @suspect = NULL, @careful = 1;
            IF @phase = 0
                SET @until = DATEADD(minute, 10, SYSUTCDATETIME());
        END CATCH;
    END;

    IF @turn >= 0
        EXECUTE [orders].[usp_TakeTurn] @take = 0;
    RETURN 0;
END;
GO
