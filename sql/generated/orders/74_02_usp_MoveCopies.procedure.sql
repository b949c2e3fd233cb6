SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_MoveCopies]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the initiator's; where gone, @conversationId */
    @code int,                          /* of the Error message; 0: without one; NULL: unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said */
    @allowResend bit = 1,               /* 0: dead-letter everything */
    @waitMs int = 0,                    /* how long to wait for its reader */
    @target uniqueidentifier = '00000000-0000-0000-0000-000000000000',  /* zeros: look it up; NULL: none */
    @resent bigint = NULL OUTPUT,       /* messages on a dialog of their own now */
    @deadLettered bigint = NULL OUTPUT  /* messages in DeadLetter now */
AS
/* Redial 0.1.0, configuration orders */
/* What a dialog has not landed goes on: on a dialog of its own, or to DeadLetter, byte-exact. Called in a
   transaction that knows that no sender is at work on the dialog, now or later.
   Ends the target's side first: nothing lands any more. Locks: the target's conversation group, then the
   copies. Returns 0, or 1: a reader is at work on the dialog, and the caller rolls all of it back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @state char(2), @lockTimeout int = @@LOCK_TIMEOUT;
    DECLARE @newHandle uniqueidentifier, @earlier uniqueidentifier = @handle,
        @rows [orders].[ReceivedBatch], @rowCount int;
    DECLARE @resends int = 0;           /* how often sent again already */
    DECLARE @bad TABLE (RowId int NOT NULL PRIMARY KEY, IsDead bit NOT NULL);   /* refused, or alone */
    DECLARE @sent int, @alone int, @left int, @goesOn bit;
    DECLARE @number nvarchar(3000);     /* the last one in the error's text */
    DECLARE @most int;                  /* on one dialog */

    SELECT @resent = 0, @deadLettered = 0;

    IF @@TRANCOUNT = 0
        THROW 50125, N'usp_MoveCopies must be called inside the transaction that has made sure that nobody sends on the dialog.', 1;

    /* The ordinary end, all has landed: no look at all endpoints below. */
    IF @code >= 0
       AND NOT EXISTS (SELECT 1 FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = @conversationId)
        RETURN 0;

    /* ---- 1  The target's side: END deletes what is unread there, its copies are here. NOLOCK: END looks again ---- */
    IF @target = '00000000-0000-0000-0000-000000000000'
        SET @target = (SELECT TOP (1) ce.conversation_handle FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                       WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 0);
    SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @target;

    IF @target IS NOT NULL
    BEGIN
        BEGIN TRY
            SET XACT_ABORT OFF;         /* for END alone: its errors are decided below */
            SET LOCK_TIMEOUT @waitMs;
            /* DO, CD: another END may doom (8427, 8426). A read that waits: its END may be undone. */
            IF @state IN ('DO', 'CD')
                SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @target;
            IF @state NOT IN ('DO', 'CD')
                END CONVERSATION @target;
        END TRY
        BEGIN CATCH
            /* A lock that did not come, doomed or not. */
            IF ERROR_NUMBER() IN (1205, 1222)
                RETURN 1;
            /* 8426, 8427: ended meanwhile; where that dooms, the next look sees it. */
            IF ERROR_NUMBER() NOT IN (8426, 8427)
                THROW;
            IF XACT_STATE() <> 1
                RETURN 1;
        END CATCH;
        SET LOCK_TIMEOUT @lockTimeout;
        SET XACT_ABORT ON;
    END;

    /* ---- 2  What has not landed, in its order ---- */
    INSERT INTO @rows (MessageSequence, MessageType, Body)
    SELECT sm.MessageSequence, sm.MessageType, sm.Body
    FROM [orders].[SentMessage] AS sm WITH (UPDLOCK, ROWLOCK, FORCESEEK)      /* two find it: one after the other */
    WHERE sm.ConversationId = @conversationId
    ORDER BY sm.MessageSequence;

    SELECT @rowCount = @@ROWCOUNT, @most = @@ROWCOUNT;
    IF @rowCount = 0
        RETURN 0;

    /* CLOSED a moment ago, by a reader that has rolled back: it will land them. */
    IF @state = 'CD' AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                                 WHERE ce.conversation_handle = @target AND ce.state <> 'CD')
        RETURN 1;

    /* Somebody may end every dialog at once: not for ever. */
    WHILE @resends < 20
    BEGIN
        SELECT @earlier = cl.ResendOf
        FROM [orders].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)    /* written once, when it began */
        WHERE cl.Handle = @earlier AND cl.ResendOf IS NOT NULL;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @resends = @resends + 1;
    END;

    /* ---- 3  Refused for a body: the one that its type's rule or the error's last number names; others
              that break the rule go alone. Named by neither: in two halves, until one is left ---- */
    IF @code IN (-8430, -9615, -9616)
    BEGIN
        SET @number = REVERSE(@description);
        SET @number = STUFF(@number, 1, PATINDEX(N'%[0-9]%', @number) - 1, N'');
        SET @number = REVERSE(LEFT(@number, PATINDEX(N'%[^0-9]%', @number + N' ') - 1));

        INSERT INTO @bad (RowId, IsDead)
        SELECT r.RowId, CASE WHEN COUNT(*) OVER () > 1000       /* not a dialog for each of so many */
            OR ROW_NUMBER() OVER (ORDER BY w.Breaks + w.IsNamed DESC, w.Breaks DESC, r.RowId ASC) = 1 THEN 1 ELSE 0 END
        FROM @rows AS r
        LEFT OUTER JOIN sys.service_message_types AS mt
            ON mt.name COLLATE Latin1_General_BIN2 = r.MessageType COLLATE Latin1_General_BIN2
        CROSS APPLY
            (SELECT CASE WHEN r.Body IS NOT NULL AND (mt.validation = 'E' OR (mt.validation = 'X' AND TRY_CONVERT(xml, r.Body) IS NULL)) THEN 1 ELSE 0 END AS Breaks,
                CASE WHEN @code <> -8430 AND r.MessageSequence = TRY_CONVERT(bigint, @number) THEN 1 ELSE 0 END AS IsNamed) AS w
        WHERE w.Breaks = 1 OR w.IsNamed = 1 OR @rowCount = 1;
        IF @@ROWCOUNT = 0 OR @resends = 20
            SET @most = (@rowCount + 1) / 2;
    END
    ELSE IF @resends = 20
        SET @description = LEFT(CONCAT(N'Sent again 20 times, and every dialog was ended. ', @description), 3000);

    /* ---- 4  Again, after errors that blame no message; else, and after twenty times, to DeadLetter ---- */
    SET @goesOn = CASE WHEN @allowResend = 1 AND (@code IN (-8430, -9615, -9616) OR (@resends < 20 AND @code IN (0, -8489, -8462, -9719, -9720, -28052)))
        THEN 1 ELSE 0 END;
    INSERT INTO [orders].[DeadLetter]
        (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
    SELECT N'initiator', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body, @code, @description
    FROM @rows AS r
    WHERE @goesOn = 0 OR EXISTS (SELECT 1 FROM @bad AS b WHERE b.RowId = r.RowId AND b.IsDead = 1)
    ORDER BY r.RowId;
    SET @left = @rowCount - @@ROWCOUNT;
    SET @deadLettered = @rowCount - @left;

    /* What goes on, and no more. */
    DELETE sm
    FROM @rows AS r
    INNER JOIN [orders].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
        ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
    OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */

    /* Those that go alone come last. */
    INSERT INTO @rows (MessageSequence, MessageType, Body)
    SELECT r.MessageSequence, r.MessageType, r.Body
    FROM @rows AS r INNER JOIN @bad AS b ON b.RowId = r.RowId
    WHERE b.IsDead = 0
    ORDER BY r.RowId;
    SET @alone = @@ROWCOUNT;
    DELETE r FROM @rows AS r INNER JOIN @bad AS b ON b.RowId = r.RowId;
    WHILE @left > 0
    BEGIN
        SET @most = CASE WHEN @left <= @alone THEN 1 WHEN @most > @left - @alone THEN @left - @alone ELSE @most END;
        EXECUTE [orders].[usp_SendPrivately] @messages = @rows, @resendOf = @handle, @reason = @description,
            @most = @most, @sent = @sent OUTPUT, @handle = @newHandle OUTPUT;
        SELECT @left -= @sent, @resent += @sent;
        DELETE r FROM @rows AS r
        WHERE r.RowId IN (SELECT TOP (@sent) f.RowId FROM @rows AS f ORDER BY f.RowId);
    END;

    RETURN 0;
END;
GO
