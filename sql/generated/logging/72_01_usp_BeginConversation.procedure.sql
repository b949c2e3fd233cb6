SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_BeginConversation]
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Begins a dialog. Called inside a transaction. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @newHandle uniqueidentifier = NULL;

    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 1  The dialog                                                                           */
        /* ------------------------------------------------------------------------------------- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/logging/initiator]
            TO SERVICE N'//redial/logging/target'
            ON CONTRACT [//redial/logging/contract]
            WITH RELATED_CONVERSATION_GROUP = '54A9E148-F784-5F6A-830F-1A6F292962F7', LIFETIME = 2147483647, ENCRYPTION = OFF;

        /* ------------------------------------------------------------------------------------- */
        /* 2  The audit row. Only ever inserted here (see ConversationLog)                          */
        /* ------------------------------------------------------------------------------------- */
        INSERT INTO [logging].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        SELECT @newHandle,
            (SELECT ce.conversation_id      /* NULL where it is not visible; the row comes all the same */
             FROM sys.conversation_endpoints AS ce
                 WITH (NOLOCK)  /* our own row, just made; never wait here while holding R and G (F-126) */
             WHERE ce.conversation_handle = @newHandle),
            1, NULL;

        SET @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a dialog nobody knows. In a
           transaction of our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;

        THROW;
    END CATCH;
END;
GO
