SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_Send]
    /* Leave out what has a default: it is the only one, or the newest, that this configuration has. */
    @fromService sysname = N'//redial/logging/initiator',
    @toService sysname = N'//redial/logging/target',
    @onContract sysname = N'//redial/logging/contract',
    @messageType sysname = N'//redial/logging/event',
    @messageBody varbinary(max),        /* NULL and empty are both sent without a body (F-107) */
    @key nvarchar(4000) = NULL,         /* not used with key = single: must be NULL */
    @messageId uniqueidentifier = NULL  /* not used with delivery = at_least_once: must be NULL */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Sends one message on a conversation that usp_AcquireConversation finds, or raises: it never returns 0
   without the message being part of the transaction. Returns 0; answers by no result set.
   The message goes out with a copy (SentMessage) that stays until it has landed.
   Locks: the gate's row, shared, then the conversation group G, kept to the end of the transaction (the
   caller's if there is one). */
BEGIN
    SET NOCOUNT ON;
    /* Callers come SERIALIZABLE (range locks would tie sessions together), SNAPSHOT (3960) and READ
       UNCOMMITTED. Ends with this procedure (F-116). A SNAPSHOT transaction should have read something
       before its first send, or its own next statement may fail with 3951 (F-144). */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit;
    DECLARE @callerAborts bit;
    DECLARE @errors nvarchar(4000);
    DECLARE @conversationKey nvarchar(200);
    DECLARE @handle uniqueidentifier;
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @error int;
    DECLARE @attempt int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: every wrong one is named, then one error is raised                               */
    /* ----------------------------------------------------------------------------------------- */
    /* EndOfStream is no type to be sent: that is for the procedure that deleted the row, once. Names of
       types are compared byte for byte, as SEND compares them (F-376). */
    SELECT @attempt = 0,
        @ownsTransaction = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @callerAborts = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END,
        @conversationKey = NULL,
        @errors = CONCAT(
            CASE WHEN ISNULL(@fromService, N'') <> N'//redial/logging/initiator'
                THEN N'@fromService must be ''//redial/logging/initiator''. ' END,
            CASE WHEN ISNULL(@toService, N'') <> N'//redial/logging/target'
                THEN N'@toService must be ''//redial/logging/target''. ' END,
            CASE WHEN ISNULL(@onContract, N'') <> N'//redial/logging/contract'
                THEN N'@onContract must be ''//redial/logging/contract''. ' END,
            CASE WHEN ISNULL(@messageType, N'') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/logging/event')
                THEN N'@messageType must be one of: ''//redial/logging/event''. ' END,

            CASE WHEN @key IS NOT NULL
                THEN N'@key must be NULL: this configuration has key = single. ' END,
            CASE WHEN @messageId IS NOT NULL
                THEN N'@messageId must be NULL: this configuration has delivery = at_least_once. ' END);

    IF @errors <> N''
    BEGIN
        SET @errors = LEFT(RTRIM(@errors), 2040);
        THROW 50100, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Look up, send; start over when the dialog is found dead (bounded)                        */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SELECT @attempt = @attempt + 1, @handle = NULL;

        BEGIN TRY
            /* -- 2.1  Look-up and SEND are one transaction: outside one the row lock ends with the
                       SELECT, and a message is lost after EndOfStream (F-123) ------------------- */
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 2.2  The conversation: found, the right to send on the conversation it leads to ---------------- */
            EXECUTE [logging].[usp_AcquireConversation]
                @conversationKey = @conversationKey,
                @deadHandle = @deadHandle,
                @ownsTransaction = @ownsTransaction,
                @handle = @handle OUTPUT;

            /* -- 2.3  G. In a caller's transaction a dead handle must not doom the caller's work:
                       XACT_ABORT is OFF for this one statement ---------------------------------- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            IF @messageBody IS NULL
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
            END
            ELSE
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);
            END;

            /* -- 2.4  What belongs to the message. ON: if any of it fails, a caller who goes on after our
                       error can only roll back, and no message is committed without it (F-460) --- */
            SET XACT_ABORT ON;
            UPDATE e
            SET Sent = e.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()     /* whose messages stay here (F-464) */
            OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @messageBody
            INTO [logging].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [logging].[Everlasting] AS e WITH (ROWLOCK, FORCESEEK)    /* its one row: who writes it holds the group */
            WHERE e.ConfigId = 1 AND e.Handle = @handle;
            IF @@ROWCOUNT <> 1
                THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW: what an error does to the caller's
                                           transaction is the caller's choice */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: no such handle, or it can no longer send; 2627: another transaction of
               this key made the row. All else, and a transaction that can only be rolled back by
               the caller, is the caller's to know. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5
               OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
            BEGIN
                THROW;
            END;

            /* Without a handle it was an aged dialog that could not be closed: zeros say that one was
               found dead, and nothing is closed in the next attempt (F-150). */
            IF @error <> 2627
                SET @deadHandle = ISNULL(@handle, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000'));
        END CATCH;
    END;
END;
GO
