SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_SendEndOfStream]
    @handle uniqueidentifier
AS
/* Redial 0.1.0, configuration orders */
/* Closes a dialog: the target ends it when it has read everything before. Only for a transaction that
   has made sure that nobody sends on it any more, because it deleted or changed the row that led to
   it, or began the dialog itself: then EndOfStream is sent once and nothing follows it.
   Takes G, then the dialog's row of ConversationLog. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @sent bigint = NULL;

    IF @@TRANCOUNT = 0
        THROW 50121, N'usp_SendEndOfStream must be called inside the transaction that took the conversation from its senders.', 1;

    SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];

    SELECT @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own change, under G; never wait while holding R and G */
    WHERE ce.conversation_handle = @handle;

    /* The last number given went to EndOfStream; numbers start at 0. */
    UPDATE cl
    SET EndOfStreamUtc = SYSUTCDATETIME(),
        Messages = @sent - 1
    FROM [orders].[ConversationLog] AS cl
        WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only */
    WHERE cl.Handle = @handle;
END;
GO
