SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_Send]
    /* Leave out what has a default: it is the only one, or the newest, that this configuration has. */
    @fromService sysname = N'//redial/orders/initiator',
    @toService sysname = N'//redial/orders/target',
    @onContract sysname = N'//redial/orders/contract',
    @messageType sysname = N'//redial/orders/event',
    @messageBody varbinary(max),        /* NULL and empty are both sent without a body (F-107) */
    @key nvarchar(4000) = NULL,         /* required: 1 to 200 characters (declared longer, so that a longer one is seen) */
    @messageId uniqueidentifier = NULL  /* not used with delivery = at_least_once: must be NULL */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Sends one message on a conversation that usp_AcquireConversation finds, or raises: it never returns 0
   without the message being part of the transaction. Returns 0; answers by no result set.
   The message goes out with a copy (SentMessage) that stays until it has landed.
   Locks: the row R that leads to the conversation, then the conversation group G, then the key's number, all kept to the
   end of the transaction (the caller's if there is one). Nothing else is waited for. */
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
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */
    DECLARE @body varbinary(max);
    DECLARE @keySequence bigint;
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
        @conversationKey = @key,
        @errors = CONCAT(
            CASE WHEN ISNULL(@fromService, N'') <> N'//redial/orders/initiator'
                THEN N'@fromService must be ''//redial/orders/initiator''. ' END,
            CASE WHEN ISNULL(@toService, N'') <> N'//redial/orders/target'
                THEN N'@toService must be ''//redial/orders/target''. ' END,
            CASE WHEN ISNULL(@onContract, N'') <> N'//redial/orders/contract'
                THEN N'@onContract must be ''//redial/orders/contract''. ' END,
            CASE WHEN ISNULL(@messageType, N'') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/event')
                THEN N'@messageType must be one of: ''//redial/orders/event''. ' END,

            CASE WHEN ISNULL(DATALENGTH(@key), 0) NOT BETWEEN 2 AND 400     /* LEN does not count spaces at the end */
                THEN N'@key must be 1 to 200 characters long: this configuration has key = application. ' END,
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

            /* -- 2.2  R, and with it the right to send on the conversation it leads to ---------------- */
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [orders].[SessionConversations] AS sc
                /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the
                   caller's SEND commits; S locks would deadlock on conversion (F-122).
                   ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
                   at every other session's row (F-121). Proved by the explorer: without UPDLOCK the
                   message after EndOfStream is found. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey;

            /* No row yet, a dialog that is over or due, or a closed gate: that takes more. A look at the
               state keeps dead handles from SEND, whose 8426 may doom the transaction (F-131). */
            IF @handle IS NULL OR @attempt > 1
               OR NOT EXISTS (SELECT 1
                              FROM sys.conversation_endpoints AS ce
                                  WITH (NOLOCK)     /* whether a plain read waits for an END is unknown; we hold R (F-126) */
                              WHERE ce.conversation_handle = @handle AND ce.state IN ('SO', 'CO')
                                AND (ce.lifetime > DATEADD(second, 3690, GETUTCDATE()) OR @sentBy = CURRENT_TRANSACTION_ID()))
               OR EXISTS (SELECT 1
                          FROM [orders].[Gate] AS g
                              WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held (F-148) */
                          WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                EXECUTE [orders].[usp_AcquireConversation]
                    @conversationKey = @conversationKey,
                    @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction,
                    @handle = @handle OUTPUT;

            /* -- 2.3  The key's next number. Only the owner of R comes here (F-147), so it is read
                       plainly, and written when the message is sent: a refused send leaves no gap -- */
            SET @keySequence = ISNULL(
                (SELECT ks.LastSequence
                 FROM [orders].[KeySequence] AS ks WITH (FORCESEEK)   /* its own row, nobody else's */
                 WHERE ks.ConfigId = 1 AND ks.ConversationKey = @conversationKey), 0) + 1;

            SET @body = (0x52444C31 + CONVERT(binary(2), 46 + ISNULL(DATALENGTH(@conversationKey), 0))
                    + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')))
                    + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
                    + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), '1970-01-01'), SYSUTCDATETIME()))
                    + CONVERT(binary(2), ISNULL(DATALENGTH(@conversationKey), 0))
                    + 0x000000000000
                    + CONVERT(varbinary(1168), CONCAT(N'', @conversationKey))
                    ) + ISNULL(@messageBody, 0x);

            /* -- 2.4  G. In a caller's transaction a dead handle must not doom the caller's work:
                       XACT_ABORT is OFF for this one statement ---------------------------------- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);

            /* -- 2.5  What belongs to the message. ON: if any of it fails, a caller who goes on after our
                       error can only roll back, and no message is committed without it (F-460) --- */
            SET XACT_ABORT ON;
            UPDATE sc
            SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here (F-464) */
            OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
            INTO [orders].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [orders].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
            IF @@ROWCOUNT <> 1
                THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

            /* -- 2.6  The number is taken ------------------------------------------------------- */
            UPDATE ks
            SET LastSequence = @keySequence
            FROM [orders].[KeySequence] AS ks
                WITH (ROWLOCK, FORCESEEK)       /* one row; a scan would wait for other keys */
            WHERE ks.ConfigId = 1 AND ks.ConversationKey = @conversationKey;
            IF @@ROWCOUNT = 0
                INSERT INTO [orders].[KeySequence] (ConfigId, ConversationKey, LastSequence)
                VALUES (1, @conversationKey, @keySequence);

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
