SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_SendPrivately]
    @messages [etl].[ReceivedBatch] READONLY,   /* sent in the order of RowId, byte for byte */
    @resendOf uniqueidentifier,         /* kept in ConversationLog: whose messages they were */
    @reason nvarchar(3000) = NULL,      /* kept in ConversationLog */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration etl */
/* Sends messages again on a dialog of their own: no row leads to it and it has no timer, so nobody else
   sends on it, and its EndOfStream follows at once. If it fails too, its own Error message comes back
   to us, and its copies are here. Called inside a transaction. Locks: the group of the new dialog. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* all of it or nothing */

    DECLARE @conversationId uniqueidentifier;
    DECLARE @row int = 0;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @sent bigint;

    IF @@TRANCOUNT = 0
        THROW 50124, N'usp_SendPrivately must be called inside the transaction that takes the messages from where they are.', 1;

    SET @handle = NULL;
    BEGIN DIALOG CONVERSATION @handle
        FROM SERVICE [//redial/etl/initiator]
        TO SERVICE N'//redial/etl/target'
        ON CONTRACT [//redial/etl/contract]
        WITH LIFETIME = 604800, ENCRYPTION = OFF;

    SELECT @conversationId = ce.conversation_id
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own row, just made (F-126) */
    WHERE ce.conversation_handle = @handle;

    WHILE 1 = 1
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
    END;

    /* The numbers the broker gives them: from 0 on (F-171). */
    INSERT INTO [etl].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
    SELECT @conversationId, ROW_NUMBER() OVER (ORDER BY m.RowId) - 1, m.MessageType, m.Body
    FROM @messages AS m;
    SET @sent = @@ROWCOUNT;

    SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];

    INSERT INTO [etl].[ConversationLog]
        (Handle, ConversationId, ConfigId, ResendOf, EndOfStreamUtc, Messages, Reason)
    VALUES (@handle, @conversationId, 1, @resendOf, SYSUTCDATETIME(), @sent, @reason);

    RETURN 0;
END;
GO
