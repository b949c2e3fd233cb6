SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndTarget]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @state char(2),                     /* of the endpoint; NULL: it is gone */
    @errorBody varbinary(max),          /* of an Error message; NULL: there was none */
    @spared uniqueidentifier,           /* the conversation whose END has failed before, if any */
    @ended bit OUTPUT                   /* 1: all was sent, or the sender's side has ended */
AS
/* Redial 0.1.0, configuration audit */
/* Ends the target's side of a dialog where it is over; called by usp_TargetActivation in the transaction
   that has received and landed all of it. End first: the answer to EndOfStream is END, and EndDialog
   tells the initiator. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @code int = NULL, @description nvarchar(3000);
    DECLARE @initiator uniqueidentifier = NULL;

    IF @errorBody IS NOT NULL
        EXECUTE [audit].[usp_ReadErrorBody] @messageBody = @errorBody,
            @code = @code OUTPUT, @description = @description OUTPUT;
    IF @code > 0                        /* somebody has ended the sender's side */
        SET @ended = 1;

    /* An error of the broker's own (a negative code: the lifetime is over, say) is told to both
       sides, and a sender may still have a message on the way in an open transaction. So it is
       the sender's side that ends both, when its senders are done; unless it is gone. */
    IF @ended = 0
    BEGIN
        SELECT @initiator = cl.Handle
        FROM [audit].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written when it was begun; waits for nobody */
        WHERE cl.ConversationId = @conversationId;
        IF @initiator IS NULL                      /* its row was deleted by hand */
            SELECT @initiator = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* a handle never changes */
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        IF NOT EXISTS (SELECT 1
                       FROM sys.conversation_endpoints AS ce
                           WITH (NOLOCK)    /* waits for no sender */
                       WHERE ce.conversation_handle = @initiator)
            SET @ended = 1;
    END;

    /* One that is CLOSED or gone has been ended by somebody else: nothing is left to end (8426). */
    IF @ended = 0 OR ISNULL(@state, 'CD') = 'CD'
        RETURN 0;

    IF @handle = @spared
    BEGIN
        EXECUTE [audit].[usp_LogError] @procedureName = N'usp_EndTarget', @handle = @handle,
            @message = N'All has landed; the conversation is left as it is, for its END has failed twice: see the errors before. Next: usp_EndLeaked.';
        RETURN 0;
    END;

    DELETE pa
    FROM [audit].[PoisonAttempt] AS pa
        WITH (ROWLOCK, FORCESEEK)       /* a scan would wait for other dialogs' rows, under G */
    WHERE pa.ConversationHandle = @handle;
    END CONVERSATION @handle;

    RETURN 0;
END;
GO
