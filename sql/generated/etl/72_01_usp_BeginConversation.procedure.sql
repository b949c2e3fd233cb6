SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @rowHandle uniqueidentifier,        /* in the row now: a placeholder or a dead handle */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @vanished bit,                      /* 1: the dialog before is gone, and nobody was told */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration etl */
/* Begins a dialog and puts its handle into the row of a key. Called inside a transaction that holds
   the row R: row first, conversation group second. */
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
            FROM SERVICE [//redial/etl/initiator] TO SERVICE N'//redial/etl/target'
            ON CONTRACT [//redial/etl/contract]
            WITH LIFETIME = 604800, ENCRYPTION = OFF;

        IF @timeout IS NOT NULL
            BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        SELECT @newId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* just made; R and G held: no wait */
        WHERE ce.conversation_handle = @newHandle;

        IF @newId IS NULL
            THROW 50104, N'User ''etl_module'' does not see in sys.conversation_endpoints the conversation it has just begun. Nothing was sent. Next: make it the owner of service ''//redial/etl/initiator'' and its queue.', 1;

        /* ---- 2  The handle into the row ---- */
        UPDATE sc
        SET Handle = @newHandle, ConversationId = @newId, Sent = 0,
            BegunUtc = SYSUTCDATETIME(),
            /* With a random part: not all replaced at once. */
            RecycleAtUtc = DATEADD(second, 3600 + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601, SYSUTCDATETIME()),
            RecycleAtMessages = 100000 + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 10001
        FROM [etl].[SessionConversations] AS sc
            /* By the clustered key: by Handle its index would be locked first. */
            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;

        /* ---- 3  The log row: only ever inserted here ---- */
        INSERT INTO [etl].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        VALUES (@newHandle, @newId, 1, @conversationKey);

        SELECT @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on must not commit a dialog nobody knows, nor a row
           that leads to it or to the one before, which has ended (S2, S6). */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            UPDATE sc                       /* the slot stays, unused */
            SET Handle = NEWID(),
                ConversationId = NULL,
                Sent = 0,
                BegunUtc = NULL,
                RecycleAtUtc = NULL,
                RecycleAtMessages = NULL
            FROM [etl].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND (sc.Handle = @rowHandle OR sc.Handle = @newHandle);

            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;
        THROW;
    END CATCH;
END;
GO
