SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_SendMessages]
    @messages [logging].[MessageBatch] READONLY,
    @problems nvarchar(max) = N'',      /* what the caller found wrong already; raised with the rest */
    @sent int = NULL OUTPUT,            /* how many messages were sent */
    @dialogs int = NULL OUTPUT,         /* conversations the messages went out on */
    @replays int = NULL OUTPUT          /* how often all of it was done again */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
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
    EXECUTE [logging].[usp_CheckMessages] @messages = @messages, @problems = @problems;

    /* -- 2  What a replay must find again: keys -- */
    SELECT @sent = COUNT(*), @dialogs = 0, @replays = 0 FROM @messages;
    IF @sent = 0
        RETURN 0;

    INSERT INTO @keys (KeyNumber, ConversationKey)
    VALUES (1, NULL);
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
                EXECUTE [logging].[usp_AcquireConversation] @conversationKey = @conversationKey, @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction, @handle = @handle OUTPUT;

                UPDATE @keys SET Handle = @handle, LastSequence = @keySequence WHERE KeyNumber = @keyNumber;
            END;

            /* -- 3.2  The messages, by seeks on the type's primary key: a cursor would be closed by a
                       ROLLBACK or a caller's CURSOR_CLOSE_ON_COMMIT, or copy every body first --- */
            SET @ordinal = ISNULL(@ordinal, (SELECT MIN(m.Ordinal) FROM @messages AS m));
            WHILE @ordinal IS NOT NULL
            BEGIN
                SELECT @messageType = m.MessageType, @body = m.MessageBody, @messageKey = m.MessageKey
                FROM @messages AS m WHERE m.Ordinal = @ordinal;

                SELECT @keyNumber = k.KeyNumber, @handle = k.Handle, @conversationKey = k.ConversationKey
                FROM @keys AS k WHERE k.KeyNumber = 1;

                /* A dead handle must not doom the caller's work: OFF for this one statement (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                IF @body IS NULL
                BEGIN
                    SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
                END
                ELSE
                BEGIN
                    SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);
                END;

                /* ON: a cancel here leaves no message without its copy, as in usp_Send (F-460). */
                SET XACT_ABORT ON;
                SET @last = @ordinal;
                UPDATE e
                SET Sent = e.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()     /* whose messages stay here */
                OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
                INTO [logging].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
                FROM [logging].[Everlasting] AS e WITH (ROWLOCK, FORCESEEK)    /* its one row: who writes it holds the group */
                WHERE e.ConfigId = 1 AND e.Handle = @handle;
                IF @@ROWCOUNT <> 1
                    THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

                IF @ownsTransaction = 0 AND @callerAborts = 0
                    SET XACT_ABORT OFF;

                SET @ordinal = (SELECT TOP (1) m.Ordinal FROM @messages AS m WHERE m.Ordinal > @ordinal ORDER BY m.Ordinal);
            END;

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
                        OR @last IS NOT NULL))
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
