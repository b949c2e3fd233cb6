SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_EndInitiator]
    @handle uniqueidentifier,
    @messageType nvarchar(256),
    @sequence bigint,
    @body varbinary(max),
    @resend bit,                        /* 0: dead-letter what has not landed (a resend failed before) */
    @code int OUTPUT,                   /* of an Error message; 0 for EndDialog; NULL unreadable */
    @description nvarchar(3000) OUTPUT,
    @copies int OUTPUT                  /* how many messages have not landed; counted to one above the limit */
AS
/* Redial 0.1.0, configuration etl */
/* The answer to EndDialog and Error, in the transaction of usp_SenderActivation that has received it: accounts
   for what has not landed and ends the dialog, under G. Returns 0; or 1, and the message is consumed, the
   dialog stays and what the message said is written down for whoever ends it. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @left int = 1;

    SELECT @code = 0, @description = NULL;
    IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'
        EXECUTE [etl].[usp_ReadErrorBody] @messageBody = @body,
            @code = @code OUTPUT, @description = @description OUTPUT;

    /* All of a dialog goes in one transaction: a very large one fills the log, rolls back for hours and counts
       as one of the five (F-118). So that is left to somebody who has looked at the log first. */
    SELECT @copies = COUNT(*)
    FROM (SELECT TOP (100001) sm.MessageSequence
          FROM sys.conversation_endpoints AS ce
              WITH (NOLOCK)             /* our own endpoint, under G (F-126) */
          INNER JOIN [etl].[SentMessage] AS sm
              WITH (NOLOCK, FORCESEEK)  /* a size, no decision on a row */
              ON sm.ConversationId = ce.conversation_id
          WHERE ce.conversation_handle = @handle) AS p;

    IF @copies <= 100000
        EXECUTE @left = [etl].[usp_ResendPending] @handle = @handle, @code = @code,
            @description = @description, @allowResend = @resend, @waitMs = 0;

    IF @left <> 0
    BEGIN
        UPDATE cl
        SET Code = @code,
            Reason = @description
        FROM [etl].[ConversationLog] AS cl
            WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only, under G */
        WHERE cl.Handle = @handle;
    END;

    IF @copies > 100000
    BEGIN
        SET @description = CONCAT(N'Not ended: more than 100000 messages have not landed. Nothing is lost. Next: see that there is room in the log for three times their bytes; then EXECUTE [etl].[usp_ResendPending] @handle = ''',
            @handle, N''', @code = ', ISNULL(CONVERT(nvarchar(12), @code), N'NULL'), N'; ', @description);
        EXECUTE [etl].[usp_LogError] @procedureName = N'usp_SenderActivation',
            @handle = @handle, @sequence = @sequence, @message = @description;
    END;

    RETURN @left;
END;
GO
