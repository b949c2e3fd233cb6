SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_ResendPending]
    @handle uniqueidentifier,           /* the initiator's handle of the dialog that ended or failed */
    @code int,                          /* code of the Error message; 0 for EndDialog; NULL unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said; kept with the code */
    @allowResend bit = 1,                /* 0: dead-letter everything (a resend failed before) */
    @waitMs int = 1000                  /* how long to wait for a reader of the target; 0: an activation not yet replaced */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Accounts for every message of a dialog that has not landed, then ends the dialog, all in one
   transaction: sent again on a dialog of their own, or copied byte-exact to DeadLetter. Locks: the group
   of @handle, then of its target, of the dialog begun here; never R.
   One transaction whatever its size: millions need room in the log for about three times their bytes, in
   tempdb for once, and a quiet hour; a rollback leaves everything as it was. Activation takes up to
   100000 messages (operations.resend_limit); usp_Health names dialogs with more,
   which wait for an operator's call. Returns 0, or 1: a reader of the target is at work on the dialog, and
   nothing was done; inside a caller's transaction that is error 50113. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut what is accounted for */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @conversationId uniqueidentifier, @state char(2), @sent bigint, @resent bigint,
        @deadLettered bigint;
    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @busy int;

    /* Inside of its RECEIVE, where nothing may wait: it calls again when it has committed that. */
    IF @waitMs = 0
        RETURN 1;

    /* ---- 1  Ours, and the side that sends: the module user may own others' conversations too ---- */
    IF NOT EXISTS (SELECT 1
                   FROM sys.conversation_endpoints AS ce
                       WITH (NOLOCK)    /* waits for nobody: the caller may hold G */
                   INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                   WHERE ce.conversation_handle = @handle
                     AND ce.is_initiator = 1
                     AND s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator')
        THROW 50112, N'@handle must be the initiator''s handle of a conversation of service ''//redial/etl/initiator'' that is still in sys.conversation_endpoints. Nothing was ended.', 1;

    /* In a caller's transaction too: with it OFF and no TRY around us a statement that fails is passed
       over, and END below would come all the same. */
    SET XACT_ABORT ON;

    IF @ownsTransaction = 1
        BEGIN TRANSACTION;

    SELECT @state = ce.state
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* as above */
    WHERE ce.conversation_handle = @handle;
    /* Ended by hand on this side. A read that may wait: not if whoever does that is not through with it. */
    IF @state = 'DO'
    BEGIN
        SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle;
        IF @state IN ('SO', 'CO')
            THROW 50112, N'@handle was being ended by somebody who then rolled back, so its conversation is open as before. Nothing was ended.', 1;
    END;

    /* An open dialog can still be sent on: take G before anything is read, so that no copy is added
       below. On one that has ended or failed no SEND can succeed, and whether a refused timer
       dooms the RECEIVE around us is unknown: not asked. */
    IF @state IN ('SO', 'CO')
        EXECUTE [etl].[usp_ArmTimer] @handle = @handle, @seconds = 30;

    SELECT @conversationId = ce.conversation_id, @state = ce.state, @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own endpoint */
    WHERE ce.conversation_handle = @handle;

    /* ---- 2  END, which takes G and so waits for whoever has sent on it and not committed yet ---- */
    /* An open dialog (an operator gives one up) would deliver what is still in sys.transmission_queue
       after a plain END, a second time; WITH ERROR drops it and tells the target. One that was ended by
       hand (DO) waits for its target's answer, which may never come; another END would be refused (8427). */
    IF @state IN ('SO', 'CO')
    BEGIN
        END CONVERSATION @handle WITH ERROR = 50111
            DESCRIPTION = N'Given up by usp_ResendPending: what had not landed was sent again or dead-lettered.';
    END
    ELSE IF @state <> 'DO'
    BEGIN
        END CONVERSATION @handle;
    END;

    /* ---- 3  What has not landed -------------------------------------------------------------- */
    EXECUTE @busy = [etl].[usp_MoveCopies]
        @conversationId = @conversationId, @handle = @handle, @code = @code, @description = @description,
        @allowResend = @allowResend, @waitMs = @waitMs, @resent = @resent OUTPUT, @deadLettered = @deadLettered OUTPUT;
    IF @busy <> 0
    BEGIN
        /* All of it: whether a savepoint takes END back is nowhere said. */
        IF @ownsTransaction = 0
            THROW 50113, N'A reader of the target is at work on the dialog of @handle. This transaction can only be rolled back. Next: call again, outside a transaction.', 1;
        ROLLBACK TRANSACTION;
        RETURN 1;
    END;

    /* Its log row after END has taken G, the order of a reader that has received for it. */
    UPDATE cl
    SET EndedUtc = SYSUTCDATETIME(),
        Messages = ISNULL(cl.Messages, @sent),
        Resent = @resent,
        DeadLettered = @deadLettered,
        Code = @code,
        Reason = @description
    FROM [etl].[ConversationLog] AS cl
        WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only, under G */
    WHERE cl.Handle = @handle;

    DELETE pa
    FROM [etl].[PoisonAttempt] AS pa
        WITH (ROWLOCK, FORCESEEK)       /* a scan would wait for other dialogs' rows, under G */
    WHERE pa.ConversationHandle IN (@handle, @conversationId);      /* usp_ResendStranded's too */

    IF @ownsTransaction = 1
        COMMIT TRANSACTION;

    RETURN 0;
END;
GO
