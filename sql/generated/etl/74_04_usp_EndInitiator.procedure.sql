SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_EndInitiator]
    @handle uniqueidentifier,
    @messageType nvarchar(256),
    @sequence bigint,
    @body varbinary(max),
    @inside bit                         /* 0: end nothing here, only write it down */
AS
/* Redial 0.1.0, configuration etl */
/* The answer to EndDialog and Error, in the transaction that has received it: ends a dialog that has left
   nothing behind, under G, waiting for nobody. Returns 0; or 1: what the message said is written down and the
   dialog stays for usp_ResendLeft, since ending the target may wait. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @left int = 0, @description nvarchar(3000);
    DECLARE @code int = 0;              /* of an Error message; 0: EndDialog; NULL: unreadable */
    DECLARE @copies int;                /* not landed; counted to one above the limit */

    IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'
        EXECUTE [etl].[usp_ReadErrorBody] @messageBody = @body,
            @code = @code OUTPUT, @description = @description OUTPUT;

    SELECT @copies = COUNT(*)
    FROM (SELECT TOP (100001) sm.MessageSequence
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)       /* our own endpoint, under G */
          INNER JOIN [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)    /* a size, no decision on a row */
              ON sm.ConversationId = ce.conversation_id
          WHERE ce.conversation_handle = @handle) AS p;

    IF @inside = 0 OR @copies > 0 OR ISNULL(@code, -1) < 0
    BEGIN
        UPDATE cl
        SET Code = @code, Reason = @description
        FROM [etl].[ConversationLog] AS cl WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)     /* this row, under G */
        WHERE cl.Handle = @handle;
        SET @left = @@ROWCOUNT;
    END;

    /* No row: not ours, refused here, so that its message is kept. */
    IF @left = 0
        EXECUTE [etl].[usp_ResendPending] @handle = @handle, @code = @code, @description = @description;

    /* A very large one fills the log: for somebody who has looked first. */
    IF @copies > 100000
    BEGIN
        SET @description = CONCAT(N'Not ended: more than 100000 messages have not landed. Nothing is lost. Next: see that there is room in the log for three times their bytes; then EXECUTE [etl].[usp_ResendPending] @handle = ''',
            @handle, N''', @code = ', ISNULL(CONVERT(nvarchar(12), @code), N'NULL'), N'; ', @description);
        EXECUTE [etl].[usp_LogError] @procedureName = N'usp_SenderActivation',
            @handle = @handle, @sequence = @sequence, @message = @description;
    END
    ELSE IF @left = 1
        /* The mark: 0 attempts blame nothing. It goes with the dialog. */
        INSERT INTO [etl].[PoisonAttempt] (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc)
        SELECT @handle, -4, N'usp_ResendLeft', 0, SYSUTCDATETIME()
        WHERE NOT EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (FORCESEEK)   /* one row, under G */
                          WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -4 AND pa.MessageType = N'usp_ResendLeft');
    RETURN @left;
END;
GO
