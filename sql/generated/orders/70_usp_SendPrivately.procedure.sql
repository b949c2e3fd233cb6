SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_SendPrivately]
    @messages [orders].[ReceivedBatch] READONLY,   /* sent in the order of RowId, byte for byte */
    @resendOf uniqueidentifier,         /* for ConversationLog: whose they were */
    @reason nvarchar(3000) = NULL,      /* for ConversationLog */
    @most int = NULL,                   /* only the first so many, none behind a refused one; NULL: all */
    @sent int = NULL OUTPUT,            /* how many went out on it */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration orders */
/* Sends messages again on a dialog of their own: no row leads to it and it has no timer, so nobody else sends on
   it, and its EndOfStream follows at once. If it fails too, its own Error comes back to us. Called inside a
   transaction. Locks: the group of the new dialog. A server may refuse a body only behind its SEND (8429):
   with @most the refused message is the last one here, and what is behind it the caller's to send. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* all of it or nothing */

    DECLARE @conversationId uniqueidentifier, @row int = 0, @messageType nvarchar(256),
        @body varbinary(max), @last int = 0, @state char(2);

    IF @@TRANCOUNT = 0
        THROW 50124, N'usp_SendPrivately must be called inside the transaction that takes the messages from where they are.', 1;

    SELECT @handle = NULL, @sent = 0;
    BEGIN DIALOG CONVERSATION @handle
        FROM SERVICE [//redial/orders/initiator] TO SERVICE N'//redial/orders/target'
        ON CONTRACT [//redial/orders/contract]
        WITH LIFETIME = 2592000, ENCRYPTION = OFF;

    SELECT @conversationId = ce.conversation_id
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own row, just made */
    WHERE ce.conversation_handle = @handle;

    WHILE ISNULL(@most, @sent + 1) > @sent
    BEGIN
        SELECT TOP (1) @row = m.RowId, @messageType = m.MessageType, @body = m.Body
        FROM @messages AS m
        WHERE m.RowId > @row
        ORDER BY m.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        IF @body IS NULL
        BEGIN
            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
        END
        ELSE
        BEGIN
            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);
        END;

        SELECT @sent += 1, @last = @row;
        IF @most IS NOT NULL
            SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle;
        IF @state NOT IN ('SO', 'CO')
            BREAK;
    END;

    /* The numbers the broker gives them: from 0 on. */
    INSERT INTO [orders].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
    SELECT @conversationId, ROW_NUMBER() OVER (ORDER BY m.RowId) - 1, m.MessageType, m.Body
    FROM @messages AS m
    WHERE m.RowId <= @last;

    IF ISNULL(@state, 'SO') IN ('SO', 'CO')
    BEGIN
        SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];
    END;

    INSERT INTO [orders].[ConversationLog]
        (Handle, ConversationId, ConfigId, ResendOf, EndOfStreamUtc, Messages, Reason)
    VALUES (@handle, @conversationId, 1, @resendOf, SYSUTCDATETIME(), @sent, @reason);

    RETURN 0;
END;
GO
