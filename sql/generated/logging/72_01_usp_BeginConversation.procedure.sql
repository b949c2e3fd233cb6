SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_BeginConversation]
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @vanished bit,                      /* 1: the dialog before is gone, and nobody was told */
    @handle uniqueidentifier OUTPUT,
    @conversationId uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration logging */
/* Begins a dialog. Called inside a transaction. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @newHandle uniqueidentifier = NULL, @newId uniqueidentifier = NULL;
    DECLARE @timeout int = NULL;

    /* What has not landed of it: a timer starts usp_ResendStranded soon. */
    IF @vanished = 1
        SET @timeout = 30;

    BEGIN TRY
        /* ---- 1  The dialog ---- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/logging/initiator] TO SERVICE N'//redial/logging/target'
            ON CONTRACT [//redial/logging/contract]
            WITH RELATED_CONVERSATION_GROUP = '54A9E148-F784-5F6A-830F-1A6F292962F7', LIFETIME = 2147483647, ENCRYPTION = OFF;

        IF @timeout IS NOT NULL
            BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        SELECT @newId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* just made; R and G held: no wait */
        WHERE ce.conversation_handle = @newHandle;

        IF @newId IS NULL
            THROW 50104, N'User ''logging_module'' does not see in sys.conversation_endpoints the conversation it has just begun. Nothing was sent. Next: make it the owner of service ''//redial/logging/initiator'' and its queue.', 1;

        /* ---- 2  The log row: only ever inserted here ---- */
        INSERT INTO [logging].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        VALUES (@newHandle, @newId, 1, NULL);

        SELECT @handle = @newHandle, @conversationId = @newId;
    END TRY
    BEGIN CATCH
        /* A caller who goes on must not commit a dialog nobody knows. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;
        THROW;
    END CATCH;
END;
GO
