SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @rowHandle uniqueidentifier,        /* what the key's row holds now: a placeholder or a dead handle */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @vanished bit,                      /* 1: the dialog before it is gone, and no message told of its end */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration orders */
/* Begins a dialog and puts its handle into the row of a key. Called inside a transaction that holds
   the row R: row first, conversation group second, as everywhere on this side. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @newHandle uniqueidentifier = NULL, @newId uniqueidentifier = NULL;
    /* A random spread, so that dialogs begun together are not recycled together. Two bytes of a
       fresh GUID are 0..65535 and never negative. */
    DECLARE @timeout int = 3600
        + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601;

    /* What had not landed of a dialog that is gone is sent again by usp_ResendStranded, which the
       activation of this side runs. A timer starts it soon, and replaces this dialog early. */
    IF @vanished = 1
        SET @timeout = 30;

    BEGIN TRY
        /* ---- 1  The dialog ------------------------------------------------------------------- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/orders/initiator]
            TO SERVICE N'//redial/orders/target'
            ON CONTRACT [//redial/orders/contract]
            WITH LIFETIME = 2592000, ENCRYPTION = OFF;

        /* The timer that will recycle it. */
        BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        SELECT @newId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce
            WITH (NOLOCK)               /* our own row, just made; never wait here while holding R and G */
        WHERE ce.conversation_handle = @newHandle;

        /* The copies of its messages are kept under this id. */
        IF @newId IS NULL
            THROW 50104, N'User ''orders_module'' does not see in sys.conversation_endpoints the conversation it has just begun. Nothing was sent. Next: make it the owner of service ''//redial/orders/initiator'' and its queue.', 1;

        /* ---- 2  The handle into the row ------------------------------------------------------ */
        UPDATE sc
        SET Handle = @newHandle,
            ConversationId = @newId,
            Sent = 0
        FROM [orders].[SessionConversations] AS sc
            /* INDEX, FORCESEEK: both columns below are unique, and a seek by Handle would lock the
               Handle index before the row; a scan would stop at other sessions' rows.
               ROWLOCK: one row, nothing wider. Proved by the explorer's send scenarios. */
            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @conversationKey
          AND sc.Handle = @rowHandle;

        /* ---- 3  The audit row. Only ever inserted here (see ConversationLog) ---- */
        INSERT INTO [orders].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        VALUES (@newHandle, @newId, 1, @conversationKey);

        SELECT @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a dialog nobody knows, nor a row that
           leads to it or to the one before, which has ended or had its EndOfStream (S2, S6). In a
           transaction of our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [orders].[SessionConversations] AS sc
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey
              AND (sc.Handle = @rowHandle OR sc.Handle = @newHandle);

            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;

        THROW;
    END CATCH;
END;
GO
