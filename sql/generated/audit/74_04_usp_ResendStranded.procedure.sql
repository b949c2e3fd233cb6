SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ResendStranded]
    @olderThanSeconds int = 30,         /* 0 and up: younger copies are left alone */
    @most int = 100000,                 /* 1 and up: a dialog with more copies is left alone */
    @endsToo bit = 1,                   /* 1: also end dialogs that have failed and have no copies left */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Ends and accounts for dialogs that have copies (SentMessage) and cannot deliver them: the initiator's side is
   gone, or has ended or failed unhandled. First the list, a seek each, then a transaction each. An error is logged
   and the next one follows; after five errors of one dialog its copies go to DeadLetter. Returns 0. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read opens a transaction */
    SET ROWCOUNT 0;                     /* a caller's would cut the list */
    IF @@LOCK_TIMEOUT NOT BETWEEN 0 AND 10000
        SET LOCK_TIMEOUT 10000;         /* others are stranded too */

    DECLARE @sentUtc datetime2(3), @handle uniqueidentifier, @state char(2), @code int,
        @description nvarchar(3000), @resend bit, @busy int, @copies bigint, @tooLarge int = 0;
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @counted bit;               /* 1: it has failed a moment ago */
    DECLARE @found int;                 /* 1, then the number of a dialog in the list */
    DECLARE @target uniqueidentifier;
    DECLARE @stranded TABLE (RowId int IDENTITY, ConversationId uniqueidentifier NOT NULL, Handle uniqueidentifier NULL, State char(2) NULL,
        Code int NULL, Reason nvarchar(3000) NULL, Target uniqueidentifier NULL, PRIMARY KEY (ConversationId, RowId));

    /* -- 1  Help and inputs -- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_ResendStranded sends again what a dialog of configuration audit has left behind that was ended by
hand (END CONVERSATION by somebody else, WITH CLEANUP, NEW_BROKER): nobody is told of such an end.
  @olderThanSeconds  0 and up, 30 by default: younger copies are left alone
  @most              1 and up, 100000 by default: a dialog with more is left to a call that allows for more
  @endsToo           1 (default): also end dialogs that have failed and have nothing left to send; one look at all endpoints
Activation of the initiator''s queue and usp_Drain call it too. Look first: [audit].[vw_Unlanded].
Example: EXECUTE [audit].[usp_ResendStranded] @olderThanSeconds = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50123, N'usp_ResendStranded must be called outside a transaction: each dialog is accounted for in one of its own.', 1;
    IF ISNULL(@olderThanSeconds, -1) < 0 OR ISNULL(@most, 0) < 1 OR @endsToo IS NULL
        THROW 50126, N'@olderThanSeconds must be 0 or more. @most must be 1 or more. @endsToo must be 0 or 1.', 1;

    WHILE 1 = 1
    BEGIN
        /* -- 2  The next dialog with copies, by its oldest -- */
        SET @found = 0;
        SELECT TOP (1) @found = 1, @conversationId = sm.ConversationId, @sentUtc = sm.SentUtc
        FROM [audit].[SentMessage] AS sm WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)     /* one being sent is not stranded */
        WHERE sm.ConversationId > @conversationId
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @found = 0
            BREAK;

        IF @sentUtc > DATEADD(second, -@olderThanSeconds, SYSUTCDATETIME())
            CONTINUE;

        SELECT @handle = NULL, @state = NULL, @code = 0, @description = NULL;
        SELECT @handle = cl.Handle, @code = ISNULL(cl.Code, 0), @description = cl.Reason
        FROM [audit].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written once */
        WHERE cl.ConversationId = @conversationId;
        IF @handle IS NULL                      /* its row was deleted by hand */
            SELECT @handle = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle;
        IF @state IN ('SO', 'CO')       /* open: it delivers, or tells its end */
            CONTINUE;

        /* A very large one fills the log: for somebody who has looked first. */
        SELECT @copies = COUNT_BIG(*)
        FROM (SELECT TOP (@most + CONVERT(bigint, 1)) sm.MessageSequence FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
              WHERE sm.ConversationId = @conversationId) AS p;      /* a size, no decision on a row */
        IF @copies > @most
            SET @tooLarge += 1;
        ELSE
            INSERT INTO @stranded (ConversationId, Handle, State, Code, Reason)
            VALUES (@conversationId, @handle, @state, @code, @description);
    END;

    /* All has landed, but activation met a reader at work, and its end is still to come. */
    IF @endsToo = 1
        INSERT INTO @stranded (ConversationId, Handle, State, Code, Reason)
        SELECT ce.conversation_id, ce.conversation_handle, ce.state, cl.Code, cl.Reason
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* both: looked at again under locks */
        INNER JOIN [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)
            ON cl.Handle = ce.conversation_handle
        WHERE ce.is_initiator = 1 AND ce.state IN ('DI', 'ER') AND cl.EndedUtc IS NULL
          AND (cl.Code IS NOT NULL OR cl.Reason IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id);

    /* The targets of those that are gone: one look at all endpoints. */
    IF EXISTS (SELECT 1 FROM @stranded AS s WHERE s.State IS NULL)
        UPDATE s
        SET Target = ce.conversation_handle
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
        INNER JOIN @stranded AS s ON s.ConversationId = ce.conversation_id AND s.State IS NULL
        WHERE ce.is_initiator = 0
        OPTION (FORCE ORDER);           /* one pass: the table variable is sought */

    WHILE 1 = 1
    BEGIN
        SET @found = 0;
        SELECT TOP (1) @found = s.RowId, @conversationId = s.ConversationId, @handle = s.Handle, @state = s.State,
            @code = s.Code, @description = s.Reason, @target = s.Target,
            @resend = CASE WHEN pa.Attempts >= 5 THEN 0 ELSE 1 END,
            @counted = CASE WHEN pa.LastUtc > DATEADD(second, -30, SYSUTCDATETIME()) THEN 1 ELSE 0 END
        FROM @stranded AS s
        LEFT OUTER JOIN [audit].[PoisonAttempt] AS pa WITH (NOLOCK, FORCESEEK)  /* written by this procedure, below */
            ON pa.ConversationHandle = s.ConversationId
        ORDER BY s.ConversationId, s.RowId;
        IF @found = 0
            BREAK;
        DELETE FROM @stranded WHERE ConversationId = @conversationId AND RowId = @found;

        BEGIN TRY
            /* -- 3  Ended or failed, and left: as activation would have done -- */
            IF @state IS NOT NULL
            BEGIN
                EXECUTE [audit].[usp_ResendPending] @handle = @handle, @code = @code,
                    @description = @description, @allowResend = @resend;
                /* Its Error may go unread: nobody else drops the row. */
                EXECUTE [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
            END
            /* -- 4  Gone: its copies are nobody's -- */
            ELSE
            BEGIN
                SELECT @busy = 0, @description = ISNULL(@description, N'Its dialog was ended by hand.');
                BEGIN TRANSACTION;
                /* Not by NOLOCK: its END may be undone. */
                IF NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle)
                    EXECUTE @busy = [audit].[usp_MoveCopies] @conversationId = @conversationId, @handle = @conversationId,
                        @code = @code, @description = @description, @allowResend = @resend, @waitMs = 10000, @target = @target;
                IF @busy = 0
                    COMMIT TRANSACTION;
                ELSE
                    ROLLBACK TRANSACTION;
            END;

            /* Its errors are forgotten with its copies. */
            DELETE pa
            FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)
            WHERE pa.ConversationHandle = @conversationId
              AND NOT EXISTS (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = @conversationId);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* 50112, 8426: somebody else has just done it. */
            IF ERROR_NUMBER() NOT IN (50112, 8426)
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_ResendStranded', @handle = @handle;

            /* Counted, unless it is a lock or the server's trouble, or within 30 seconds: a drain asks again. */
            IF @counted = 0 AND NOT (ERROR_NUMBER() IN (50112, 8426) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
                EXECUTE [audit].[usp_RecordPoison] @handle = @conversationId, @sequence = -1,
                    @messageType = N'usp_ResendStranded';
        END CATCH;
    END;

    /* Not in activation (@endsToo = 0): a PRINT is a line in the server's log. */
    IF @tooLarge > 0 AND @endsToo = 1
        PRINT CONCAT(N'usp_ResendStranded left ', @tooLarge, N' dialogs alone: each has more than ', @most,
            N' copies, and all of a dialog goes in one transaction. Look at vw_Unlanded and the room in the log, then call again with a larger @most.');

    RETURN 0;
END;
GO
