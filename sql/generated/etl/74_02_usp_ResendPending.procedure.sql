SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_ResendPending]
    @handle uniqueidentifier,           /* the initiator's handle of the dialog that ended or failed */
    @code int,                          /* code of the Error message; 0 for EndDialog; NULL unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said; kept with the code */
    @allowResend bit = 1                /* 0: dead-letter everything (a resend failed before) */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Accounts for every message of a dialog that is still pending, then ends the dialog, all in one
   transaction: resent on a dialog of their own, or copied byte-exact to DeadLetter. Locks: the group
   of @handle and of dialogs begun here; never R.
   One transaction whatever its size, since END deletes all that is pending at once (F-373): millions
   need room in the log for about three times their bytes, in tempdb for once, and a quiet hour; a
   rollback leaves everything pending as it was. Activation calls it for up to 100000 of them
   (operations.resend_limit); usp_Health names dialogs with more, which wait for an operator's call. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut what is accounted for, and END drops the rest (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @newHandle uniqueidentifier = NULL;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @conversationId uniqueidentifier;
    DECLARE @state char(2);
    DECLARE @sent bigint;
    DECLARE @resent bigint = 0;
    DECLARE @deadLettered bigint = 0;
    DECLARE @fetch int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Refuse to end blindly                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    /* sys.transmission_queue is filtered by the same test and shows no row to anyone else (F-113). */
    IF ISNULL(IS_MEMBER(N'db_owner'), 0) <> 1
        THROW 50110, N'usp_ResendPending cannot see sys.transmission_queue, so it does not end the conversation: user ''etl_module'' must be a member of db_owner. Next: ALTER ROLE db_owner ADD MEMBER [etl_module]; then call it again.', 1;

    /* As a db_owner it could end anybody's conversation; ours is ours, and the side that sends. */
    IF NOT EXISTS (SELECT 1
                   FROM sys.conversation_endpoints AS ce
                       WITH (NOLOCK)    /* waits for nobody: the caller may hold G (F-126) */
                   INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                   WHERE ce.conversation_handle = @handle
                     AND ce.is_initiator = 1
                     AND s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator')
        THROW 50112, N'@handle must be the initiator''s handle of a conversation of service ''//redial/etl/initiator'' that is still in sys.conversation_endpoints. Nothing was ended.', 1;

    /* In a caller's transaction too: with it OFF and no TRY around us a statement that fails is passed
       over, and END below would delete what was not resent or copied. */
    SET XACT_ABORT ON;

    IF @ownsTransaction = 1
        BEGIN TRANSACTION;

    /* An open dialog can still be sent on: take G before anything is read, so that what is pending
       cannot change below (F-109). In one that has ended or failed no SEND can succeed, and whether a
       refused timer dooms the RECEIVE around us is unknown (F-134): not asked. */
    IF EXISTS (SELECT 1
               FROM sys.conversation_endpoints AS ce
                   WITH (NOLOCK)        /* as above */
               WHERE ce.conversation_handle = @handle AND ce.state IN ('SO', 'CO'))
        EXECUTE [etl].[usp_ArmTimer] @handle = @handle, @seconds = 30;

    SELECT @conversationId = ce.conversation_id, @state = ce.state, @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own endpoint, under G (F-126) */
    WHERE ce.conversation_handle = @handle;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Resend: only after errors that say nothing against the message itself (F-111)            */
    /* ----------------------------------------------------------------------------------------- */
    IF @allowResend = 1 AND @code IN (0, -8489, -8462, -9719, -9720, -28052)
    BEGIN
        /* STATIC: the rows as they are now; what is sent below does not join them. Broker rows are
           left out: an EndOfStream belongs to the old dialog, EndDialog and Error are not messages.
           The type's name may be NULL (F-142): <> alone would pass over such a row, and END delete it.
           A row here may have been delivered and only its acknowledgement lost: duplicates are
           possible (F-110). */
        DECLARE pending CURSOR LOCAL FORWARD_ONLY STATIC READ_ONLY FOR
            SELECT tq.message_sequence_number, tq.message_type_name, tq.message_body
            FROM sys.transmission_queue AS tq
            WHERE tq.conversation_handle = @handle
              AND tq.is_end_of_dialog = 0
              AND tq.is_conversation_error = 0
              AND ISNULL(tq.message_type_name, N'') COLLATE Latin1_General_BIN2 <> N'EndOfStream'
            ORDER BY tq.message_sequence_number;

        OPEN pending;
        FETCH NEXT FROM pending INTO @sequence, @messageType, @body;
        SET @fetch = @@FETCH_STATUS;

        WHILE @fetch = 0
        BEGIN
            IF @newHandle IS NULL
            BEGIN
                /* A private dialog: no row, no timer, so nobody else sends on it. */
                BEGIN DIALOG CONVERSATION @newHandle
                    FROM SERVICE [//redial/etl/initiator]
                    TO SERVICE N'//redial/etl/target'
                    ON CONTRACT [//redial/etl/contract]
                    WITH LIFETIME = 604800, ENCRYPTION = OFF;
            END;

            IF @body IS NULL
            BEGIN
                SEND ON CONVERSATION @newHandle MESSAGE TYPE @messageType;
            END
            ELSE
            BEGIN
                SEND ON CONVERSATION @newHandle MESSAGE TYPE @messageType (@body);
            END;

            SET @resent = @resent + 1;
            FETCH NEXT FROM pending INTO @sequence, @messageType, @body;
            SET @fetch = @@FETCH_STATUS;
        END;

        CLOSE pending;
        DEALLOCATE pending;

        IF @newHandle IS NOT NULL
        BEGIN
            /* It is complete, so its EndOfStream follows at once: the target ends it first, the
               EndDialog ends it here. If it fails too, its own Error message comes back to us. */
            SEND ON CONVERSATION @newHandle MESSAGE TYPE [EndOfStream];

            INSERT INTO [etl].[ConversationLog]
                (Handle, ConversationId, ConfigId, ResendOf, EndOfStreamUtc, Messages)
            SELECT @newHandle,
                (SELECT ce.conversation_id
                 FROM sys.conversation_endpoints AS ce
                     WITH (NOLOCK)      /* our own row, just made (F-126) */
                 WHERE ce.conversation_handle = @newHandle),
                1, @handle, SYSUTCDATETIME(), @resent;
        END;
    END
    /* ----------------------------------------------------------------------------------------- */
    /* 3  Every other code, positive ones too: byte-exact to DeadLetter                            */
    /* ----------------------------------------------------------------------------------------- */
    ELSE
    BEGIN
        INSERT INTO [etl].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N'initiator', @conversationId, @handle, tq.message_sequence_number, tq.message_type_name,
            tq.message_body, @code, @description
        FROM sys.transmission_queue AS tq
        WHERE tq.conversation_handle = @handle
          AND tq.is_end_of_dialog = 0
          AND tq.is_conversation_error = 0
          AND ISNULL(tq.message_type_name, N'') COLLATE Latin1_General_BIN2 <> N'EndOfStream'
        ORDER BY tq.message_sequence_number;

        SET @deadLettered = @@ROWCOUNT;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  END, after all of it: it deletes what is pending (F-108)                                 */
    /* ----------------------------------------------------------------------------------------- */
    /* An open dialog (an operator gives one up) would deliver what is pending after a plain END, a
       second time; WITH ERROR drops it and tells the target (F-138). */
    IF @state IN ('SO', 'CO')
    BEGIN
        END CONVERSATION @handle WITH ERROR = 50111
            DESCRIPTION = N'Given up by usp_ResendPending: pending messages were resent or dead-lettered.';
    END
    ELSE
    BEGIN
        END CONVERSATION @handle;
    END;

    /* Its log row after END has taken G, the order of a reader that has received for it (F-127). */
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
    WHERE pa.ConversationHandle = @handle;

    IF @ownsTransaction = 1
        COMMIT TRANSACTION;

    RETURN 0;
END;
GO
