SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @rowHandle uniqueidentifier,        /* in the row now: a placeholder or a dead handle */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @vanished bit,                      /* 1: the dialog before is gone, and nobody was told */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration audit */
/* Begins a dialog and puts its handle into the row of a key. Called inside a transaction that holds
   the row R: row first, conversation group second. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @newHandle uniqueidentifier = NULL, @newId uniqueidentifier = NULL;
    /* A random spread: not all are recycled at once. */
    DECLARE @timeout int = 3600 + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601;

    /* What has not landed of it: a timer starts usp_ResendStranded soon. */
    IF @vanished = 1
        SET @timeout = 30;

    BEGIN TRY
        /* ---- 1  The dialog ---- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/audit/initiator] TO SERVICE N'//redial/audit/target'
            ON CONTRACT [//redial/audit/contract]
            WITH LIFETIME = 2592000, ENCRYPTION = OFF;

        /* The timer that will recycle it. */
        BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        SELECT @newId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* just made; R and G held: no wait */
        WHERE ce.conversation_handle = @newHandle;

        IF @newId IS NULL
            THROW 50104, N'User ''audit_module'' does not see in sys.conversation_endpoints the conversation it has just begun. Nothing was sent. Next: make it the owner of service ''//redial/audit/initiator'' and its queue.', 1;

        /* ---- 2  The handle into the row ---- */
        UPDATE sc
        SET Handle = @newHandle, ConversationId = @newId, Sent = 0
        FROM [audit].[SessionConversations] AS sc
            /* By the clustered key: by Handle its index would be locked first. */
            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;

        /* ---- 3  The log row: only ever inserted here ---- */
        INSERT INTO [audit].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        VALUES (@newHandle, @newId, 1, @conversationKey);

        SELECT @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on must not commit a dialog nobody knows, nor a row
           that leads to it or to the one before, which has ended (S2, S6). */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND (sc.Handle = @rowHandle OR sc.Handle = @newHandle);

            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;
        THROW;
    END CATCH;
END;
GO
