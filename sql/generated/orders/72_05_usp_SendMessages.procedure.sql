SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_SendMessages]
    @messages [orders].[MessageBatch] READONLY,
    @problems nvarchar(max) = N'',      /* what the caller found wrong already; raised with the rest */
    @sent int = NULL OUTPUT,            /* how many messages were sent */
    @dialogs int = NULL OUTPUT,         /* conversations the messages went out on */
    @replays int = NULL OUTPUT          /* how often all of it was done again */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Sends all messages or none, strictly in the order of Ordinal; what usp_SendBatch and the view Outbox
   have in common. Each message has its copy, as in usp_Send. A dialog found dead is replaced, so a key's
   messages are on one dialog: in a transaction of its own all is undone and sent again (bounded). In the
   caller's that key is sent on a new dialog, for SEND holds what it has sent on: a dialog is dead before
   the key's first message. An error behind the first SEND there leaves a transaction that can only roll
   back. No savepoint: whether one takes back SEND is nowhere said (F-333), and distributed ones have none.
   Locks: the row R of every key, in the order of the keys, before the first SEND; then as usp_Send. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;     /* as usp_Send does, for its reasons */

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    /* Table variables keep their rows over a ROLLBACK: keys found dead and ids made are remembered. */
    DECLARE @keys TABLE
    (
        KeyNumber int NOT NULL PRIMARY KEY,
        ConversationKey nvarchar(200) NULL UNIQUE,
        Handle uniqueidentifier NULL,
        DeadHandle uniqueidentifier NULL,
        LastSequence bigint NULL
    );
    DECLARE @messageId uniqueidentifier = NULL;
    DECLARE @keyCount int;
    DECLARE @keyNumber int;
    DECLARE @conversationKey nvarchar(200);
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @handle uniqueidentifier;
    DECLARE @ordinal int = NULL;
    DECLARE @last int = NULL;           /* the last message that is in the transaction */
    DECLARE @messageType sysname;
    DECLARE @body varbinary(max);
    DECLARE @messageKey nvarchar(200);
    DECLARE @keySequence bigint = NULL;
    DECLARE @attempt int = 0;
    DECLARE @error int;

    /* -- 1  Inputs -- */
    EXECUTE [orders].[usp_CheckMessages] @messages = @messages, @problems = @problems;

    /* -- 2  What a replay must find again: keys -- */
    SELECT @sent = COUNT(*), @dialogs = 0, @replays = 0 FROM @messages;
    IF @sent = 0
        RETURN 0;

    INSERT INTO @keys (KeyNumber, ConversationKey)
    SELECT ROW_NUMBER() OVER (ORDER BY k.ConversationKey), k.ConversationKey
    FROM (SELECT CONVERT(nvarchar(200), m.MessageKey) AS ConversationKey
          FROM @messages AS m
          GROUP BY CONVERT(nvarchar(200), m.MessageKey)) AS k;   /* keys the collation holds equal share a dialog */
    SELECT @keyCount = COUNT(*), @dialogs = COUNT(*) FROM @keys;

    /* -- 3  All of it; once more when a dialog is found dead (bounded: every attempt replaces one
             key's dialog, and five more for those another session replaces meanwhile) -- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        BEGIN TRY
            SET @handle = NULL;
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 3.1  R of every key, in the order of the keys: two batches cannot deadlock over R -- */
            WHILE 1 = 1
            BEGIN
                SELECT TOP (1) @keyNumber = k.KeyNumber, @conversationKey = k.ConversationKey, @deadHandle = k.DeadHandle
                FROM @keys AS k WHERE k.Handle IS NULL
                ORDER BY k.KeyNumber;
                IF @@ROWCOUNT = 0
                    BREAK;

                SET @handle = NULL;
                EXECUTE [orders].[usp_AcquireConversation] @conversationKey = @conversationKey, @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction, @handle = @handle OUTPUT;

                SET @keySequence = ISNULL(
                    (SELECT ks.LastSequence FROM [orders].[KeySequence] AS ks WITH (FORCESEEK)   /* nobody else's row (F-147) */
                     WHERE ks.ConfigId = 1 AND ks.ConversationKey = @conversationKey), 0);

                UPDATE @keys SET Handle = @handle, LastSequence = @keySequence WHERE KeyNumber = @keyNumber;
            END;

            /* -- 3.2  The messages, by seeks on the type's primary key: a cursor would be closed by a
                       ROLLBACK or a caller's CURSOR_CLOSE_ON_COMMIT, or copy every body first --- */
            SET @ordinal = ISNULL(@ordinal, (SELECT MIN(m.Ordinal) FROM @messages AS m));
            WHILE @ordinal IS NOT NULL
            BEGIN
                SELECT @messageType = m.MessageType, @body = m.MessageBody, @messageKey = m.MessageKey
                FROM @messages AS m WHERE m.Ordinal = @ordinal;

                UPDATE @keys SET @keySequence = LastSequence = LastSequence + 1 WHERE ConversationKey = @messageKey;
                SELECT @keyNumber = k.KeyNumber, @handle = k.Handle, @conversationKey = k.ConversationKey
                FROM @keys AS k WHERE k.ConversationKey = @messageKey;

                SET @body = (0x52444C31 + CONVERT(binary(2), 46 + ISNULL(DATALENGTH(@messageKey), 0))
                        + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')))
                        + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
                        + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), '1970-01-01'), SYSUTCDATETIME()))
                        + CONVERT(binary(2), ISNULL(DATALENGTH(@messageKey), 0))
                        + 0x000000000000
                        + CONVERT(varbinary(1168), CONCAT(N'', @messageKey))
                        ) + ISNULL(@body, 0x);

                /* A dead handle must not doom the caller's work: OFF for this one statement (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);

                /* ON: a cancel here leaves no message without its copy, as in usp_Send (F-460). */
                SET XACT_ABORT ON;
                SET @last = @ordinal;
                UPDATE sc
                SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here */
                OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
                INTO [orders].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
                FROM [orders].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
                IF @@ROWCOUNT <> 1
                    THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

                IF @ownsTransaction = 0 AND @callerAborts = 0
                    SET XACT_ABORT OFF;

                SET @ordinal = (SELECT TOP (1) m.Ordinal FROM @messages AS m WHERE m.Ordinal > @ordinal ORDER BY m.Ordinal);
            END;

            /* -- 3.3  The numbers are taken ----------------------------------------------------- */
            UPDATE ks
            SET LastSequence = k.LastSequence
            FROM @keys AS k
            INNER JOIN [orders].[KeySequence] AS ks
                    WITH (ROWLOCK, FORCESEEK)   /* these rows; a scan would wait for other keys */
                ON ks.ConfigId = 1 AND ks.ConversationKey = k.ConversationKey
            OPTION (FORCE ORDER, LOOP JOIN);
            IF @@ROWCOUNT < @keyCount
                INSERT INTO [orders].[KeySequence] (ConfigId, ConversationKey, LastSequence)
                SELECT 1, k.ConversationKey, k.LastSequence
                FROM @keys AS k
                WHERE NOT EXISTS (SELECT 1 FROM [orders].[KeySequence] AS ks WITH (FORCESEEK)  /* as above */
                                  WHERE ks.ConfigId = 1 AND ks.ConversationKey = k.ConversationKey);

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            SET @replays = @attempt - 1;
            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW, as in usp_Send */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* As in usp_Send: 8426, 8429 a dead dialog, 2627 the key's row was made meanwhile. In the caller's
               transaction not behind a message of this key: it would be split over two dialogs. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5 + @keyCount
               OR (@ownsTransaction = 0
                   AND (XACT_STATE() <> 1
                        OR EXISTS (SELECT 1 FROM @messages AS m WHERE m.Ordinal <= @last AND m.MessageKey = @conversationKey)))
            BEGIN
                IF @last IS NOT NULL
                    SET XACT_ABORT ON;  /* a caller who goes on must not commit half a batch */
                THROW;
            END;

            /* Zeros: an aged dialog was found dead, close nothing in the next attempt (F-150). */
            UPDATE @keys
            SET DeadHandle = CASE WHEN @error = 2627 THEN DeadHandle ELSE ISNULL(@handle, '00000000-0000-0000-0000-000000000000') END
            WHERE KeyNumber = @keyNumber;
            IF @ownsTransaction = 1
                SELECT @ordinal = NULL, @last = NULL;
            UPDATE @keys SET Handle = NULL WHERE @ownsTransaction = 1 OR KeyNumber = @keyNumber;
        END CATCH;
    END;
END;
GO
