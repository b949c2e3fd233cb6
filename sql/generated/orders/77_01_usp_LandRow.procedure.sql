SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_LandRow]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @body varbinary(max)                /* as it came out of the queue */
AS
/* Redial 0.1.0, configuration orders */
/* Lands one row: for the row-by-row pass and the search for a poison row.
   Runs inside its caller's transaction; raises when the row cannot be processed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* the caller undoes one row */
    INSERT INTO [orders].[Landing]
        (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
         ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
    SELECT @conversationId, @handle, @sequence, @messageType, e.Body,
        e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
    FROM [orders].[ufn_ReadEnvelope](@body) AS e;

    RETURN 0;
END;
GO
