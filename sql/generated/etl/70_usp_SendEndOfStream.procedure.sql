SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_SendEndOfStream]
    @handle uniqueidentifier
AS
/* Redial 0.1.0, configuration etl */
/* Closes a dialog: the target ends it behind all before. Only for a transaction that has taken the row that led to
   it, or began it: so it is sent once and nothing follows. Takes G, then its row of ConversationLog. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @sent bigint = NULL;

    IF @@TRANCOUNT = 0
        THROW 50121, N'usp_SendEndOfStream must be called inside the transaction that took the conversation from its senders.', 1;

    SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];

    SELECT @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own change; R and G held: no wait */
    WHERE ce.conversation_handle = @handle;

    UPDATE cl
    SET EndOfStreamUtc = SYSUTCDATETIME(), Messages = @sent - 1     /* the last number was EndOfStream's */
    FROM [etl].[ConversationLog] AS cl WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)     /* this row only */
    WHERE cl.Handle = @handle;
END;
GO
