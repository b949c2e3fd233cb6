SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_EndTarget]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @state char(2),                     /* of the endpoint; NULL: it is gone */
    @errorBody varbinary(max),          /* of an Error message; NULL: there was none */
    @spared uniqueidentifier,           /* whose END has failed before */
    @ended bit OUTPUT                   /* 1: all was sent, or the sender's side has ended */
AS
/* Redial 0.1.0, configuration etl */
/* Ends the target's side of a dialog that is over, in the transaction that has received and landed all of it.
   It ends first: EndDialog tells the initiator. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @code int = NULL, @description nvarchar(3000);
    DECLARE @initiator uniqueidentifier = NULL;

    IF @errorBody IS NOT NULL
        EXECUTE [etl].[usp_ReadErrorBody] @messageBody = @errorBody,
            @code = @code OUTPUT, @description = @description OUTPUT;
    IF @code > 0                        /* somebody has ended the sender's side */
        SET @ended = 1;

    /* The broker's own error (a negative code) is told to both sides, and a sender's transaction may be open: the
       sender's side ends both, unless it is gone. NOLOCK: waits for no sender. */
    IF @ended = 0
    BEGIN
        SELECT @initiator = cl.Handle
        FROM [etl].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written once */
        WHERE cl.ConversationId = @conversationId;
        IF @initiator IS NULL                      /* its row was deleted by hand */
            SELECT @initiator = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        IF NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @initiator)
            SET @ended = 1;
    END;

    /* CLOSED or gone: nothing is left to end (8426). */
    IF @ended = 0 OR ISNULL(@state, 'CD') = 'CD'
        RETURN 0;

    IF @handle = @spared
    BEGIN
        EXECUTE [etl].[usp_LogError] @procedureName = N'usp_EndTarget', @handle = @handle,
            @message = N'All has landed; the conversation is left as it is, for its END has failed twice: see the errors before. Next: usp_EndLeaked.';
        RETURN 0;
    END;

    DELETE pa
    FROM [etl].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* under G: no scan */
    WHERE pa.ConversationHandle = @handle;
    END CONVERSATION @handle;

    RETURN 0;
END;
GO
