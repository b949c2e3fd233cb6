SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_ResendPending]
    @handle uniqueidentifier,           /* the initiator's, of the dialog that ended */
    @code int,                          /* of the Error message; 0: EndDialog; NULL: unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said */
    @allowResend bit = 1,                /* 0: dead-letter everything */
    @waitMs int = 1000                  /* for a reader of the target; 0: an old activation */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Ends a dialog and accounts for each of its messages that has not landed: sent again, or to DeadLetter. One
   transaction: millions need room in the log for three times their bytes; activation takes up to 100000.
   Locks: the group of @handle, then of its target, of the dialog begun here; never R. Returns 0, or 1: a reader
   of the target is at work on it, and nothing was done (in a caller's transaction error 50113). */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut the list */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @conversationId uniqueidentifier, @state char(2), @sent bigint, @resent bigint,
        @deadLettered bigint;
    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @busy int;

    IF @waitMs = 0                      /* inside a RECEIVE: it calls again behind it */
        RETURN 1;

    /* ---- 1  Ours, and the side that sends. NOLOCK: the caller may hold G ---- */
    IF NOT EXISTS (SELECT 1
                   FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                   INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                   WHERE ce.conversation_handle = @handle AND ce.is_initiator = 1
                     AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator')
        THROW 50112, N'@handle must be the initiator''s handle of a conversation of service ''//redial/logging/initiator'' that is still in sys.conversation_endpoints. Nothing was ended.', 1;

    SET XACT_ABORT ON;                  /* in a caller's too: no END behind a failure */
    IF @ownsTransaction = 1
        BEGIN TRANSACTION;

    SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle;
    /* Ended by hand here. A read that waits: that may be undone. */
    IF @state = 'DO'
    BEGIN
        SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle;
        IF @state IN ('SO', 'CO')
            THROW 50112, N'@handle was being ended by somebody who then rolled back, so its conversation is open as before. Nothing was ended.', 1;
    END;

    /* Open: take G before anything is read, so that no copy is added. */
    IF @state IN ('SO', 'CO')
        EXECUTE [logging].[usp_ArmTimer] @handle = @handle, @seconds = 30;

    SELECT @conversationId = ce.conversation_id, @state = ce.state, @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own endpoint */
    WHERE ce.conversation_handle = @handle;

    /* ---- 2  END takes G: it waits for open transactions that have sent. WITH ERROR where the dialog is open:
              a plain END would deliver what is in sys.transmission_queue. DO: ended by hand already ---- */
    IF @state IN ('SO', 'CO')
    BEGIN
        END CONVERSATION @handle WITH ERROR = 50111
            DESCRIPTION = N'Given up by usp_ResendPending: what had not landed was sent again or dead-lettered.';
    END
    ELSE IF @state <> 'DO'
    BEGIN
        END CONVERSATION @handle;
    END;

    /* ---- 3  What has not landed ---- */
    EXECUTE @busy = [logging].[usp_MoveCopies] @conversationId = @conversationId, @handle = @handle, @code = @code, @description = @description,
        @allowResend = @allowResend, @waitMs = @waitMs, @resent = @resent OUTPUT, @deadLettered = @deadLettered OUTPUT;
    IF @busy <> 0
    BEGIN
        IF @ownsTransaction = 0         /* no savepoint: does it take END back? */
            THROW 50113, N'A reader of the target is at work on the dialog of @handle. This transaction can only be rolled back. Next: call again, outside a transaction.', 1;
        ROLLBACK TRANSACTION;
        RETURN 1;
    END;

    /* Its log row after G, as readers do. */
    UPDATE cl
    SET EndedUtc = SYSUTCDATETIME(), Messages = ISNULL(cl.Messages, @sent), Resent = @resent,
        DeadLettered = @deadLettered, Code = @code, Reason = @description
    FROM [logging].[ConversationLog] AS cl WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)     /* this row, under G */
    WHERE cl.Handle = @handle;

    DELETE pa
    FROM [logging].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* under G: no scan */
    WHERE pa.ConversationHandle IN (@handle, @conversationId);      /* usp_ResendStranded's too */

    IF @ownsTransaction = 1
        COMMIT TRANSACTION;
    RETURN 0;
END;
GO
