SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_DropCopies]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* for ErrorLog */
    @rows [etl].[ReceivedBatch] READONLY   /* what has been accounted for */
AS
/* Redial 0.1.0, configuration etl */
/* Takes away one copy for each message that has been accounted for: that of its number and content, else
   the oldest of its content. The sender's count and the broker's numbers can come apart: somebody else sends
   on the dialog, a SEND is undone and its number not given back, a client cancels between a SEND and its
   copy and commits. So nothing that is still to come is left without a copy. Said in ErrorLog, once for
   each dialog. Called in a transaction that owns the group of the dialog's target. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @found TABLE (RowId int NOT NULL PRIMARY KEY);
    DECLARE @row int = 0, @sequence bigint, @messageType nvarchar(256), @body varbinary(max),
        @message nvarchar(2048);
    DECLARE @first bigint = NULL;       /* the first without a copy of its number */

    /* By key, one by one: a range may meet a sender's new key. */
    DELETE sm
    OUTPUT r.RowId INTO @found (RowId)
    FROM @rows AS r
    INNER JOIN [etl].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
        ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
    WHERE r.MessageType IN (N'', sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(r.Body, 0x)
    OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row
          AND r.MessageType NOT IN (N'EndOfStream',
              N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
              N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
          AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.RowId = r.RowId)
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SET @first = ISNULL(@first, @sequence);
        WITH oldest AS (
            SELECT TOP (1) sm.MessageSequence
            FROM [etl].[SentMessage] AS sm
                /* READPAST: what a sender is just writing has not arrived. FORCESEEK: this dialog's. */
                WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)
            WHERE sm.ConversationId = @conversationId
              AND @messageType IN (N'', sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(@body, 0x)
            ORDER BY sm.MessageSequence
        )

        DELETE FROM oldest;
    END;

    /* Once: not if it stands among the last thousand lines. */
    IF @first IS NOT NULL
       AND NOT EXISTS (SELECT 1
                       FROM (SELECT TOP (1000) el.ProcedureName, el.ConversationHandle
                             FROM [etl].[ErrorLog] AS el WITH (NOLOCK)     /* waits for nobody */
                             ORDER BY el.ErrorLogId DESC) AS el
                       WHERE el.ConversationHandle = @handle AND el.ProcedureName = N'usp_DropCopies')
    BEGIN
        SET @message = CONCAT(N'Message ', @first, N' of this dialog has no copy of its number: somebody else sends on it, or a client cancelled a call and committed. Nothing is lost: copies are found by their content. Next: see who else may send on dialogs of service ''//redial/etl/initiator''.');
        EXECUTE [etl].[usp_LogError] @procedureName = N'usp_DropCopies', @handle = @handle,
            @sequence = @first, @message = @message;
    END;
END;
GO
