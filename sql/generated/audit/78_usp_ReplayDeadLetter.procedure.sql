SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ReplayDeadLetter]
    @deadLetterId bigint = NULL,        /* the first or only one, from vw_DeadLetters */
    @toDeadLetterId bigint = NULL,      /* the last one of a range; NULL: only the first */
    @reason nvarchar(400) = NULL,       /* why: kept with each letter and in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show what would be replayed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Sends dead letters again, byte by byte as they were (a message id, a key's number and the sender in its
   envelope are kept): those of one conversation in sequence order, on one private dialog that is closed at
   once, in one transaction that marks and sends them. So none is replayed twice and none is marked and not
   sent. Where that fails they are tried one by one: a bad letter stays, is named, and stops no other. At
   most 1,000 a call: more locks than 5,000 on one table would become a lock on all of it.
   Result set: DeadLetterId bigint, ConversationHandle uniqueidentifier, MessageSequence bigint,
   MessageType nvarchar(256), BodyBytes bigint, Outcome nvarchar(200). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @replayed bigint = 0;
    DECLARE @lastId bigint = ISNULL(@toDeadLetterId, @deadLetterId);

    IF @Help = 1
    BEGIN
        PRINT N'usp_ReplayDeadLetter sends dead letters of configuration audit again, as they were.
  @deadLetterId    the first or only one: see [audit].[vw_DeadLetters]
  @toDeadLetterId  the last one of a range (at most 1,000 a call)
  @reason          why; required with @WhatIf = 0; kept with each letter, with your login
  @WhatIf          1 (default): only show; 0: do it
  @Debug           1: print each step
Example: EXECUTE [audit].[usp_ReplayDeadLetter] @deadLetterId = 7, @toDeadLetterId = 12, @reason = N''target mended'', @WhatIf = 0;
A letter whose cause is not mended comes back as a new dead letter.';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50171, N'usp_ReplayDeadLetter must be called outside a transaction: it sends in transactions of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @deadLetterId IS NULL
        SET @errors = @errors + N'@deadLetterId must name a dead letter. ';
    IF @lastId < @deadLetterId OR @lastId - @deadLetterId > 999
        SET @errors = @errors + N'@toDeadLetterId must be @deadLetterId to @deadLetterId + 999. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50170, @errors, 1;
    END;

    DECLARE @letters TABLE
    (
        Position int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        DeadLetterId bigint NOT NULL UNIQUE,
        ConversationHandle uniqueidentifier NOT NULL,
        Unit int NOT NULL,              /* what goes in one transaction */
        Outcome nvarchar(200) NULL
    );
    DECLARE @marked TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY, MessageSequence bigint NOT NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL);
    DECLARE @unit int = 0;
    DECLARE @outcome nvarchar(200);
    DECLARE @firstHandle uniqueidentifier;
    DECLARE @newHandle uniqueidentifier;
    DECLARE @messages [audit].[ReceivedBatch];
    DECLARE @sent bigint;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Which, conversation by conversation, each in its own order                               */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @letters (DeadLetterId, ConversationHandle, Unit, Outcome)
    SELECT o.DeadLetterId, o.ConversationHandle, DENSE_RANK() OVER (ORDER BY o.FirstId), o.Outcome
    FROM
    (
        SELECT dl.DeadLetterId, dl.ConversationHandle, dl.MessageSequence,
            MIN(dl.DeadLetterId) OVER (PARTITION BY dl.ConversationHandle) AS FirstId,
            CONVERT(nvarchar(200), NULL) AS Outcome
        FROM [audit].[DeadLetter] AS dl
            /* READPAST: a letter that is just being written or replayed is somebody's; activation never
               waits for us, and we not for it. FORCESEEK: the range only. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
          AND dl.HandledUtc IS NULL
          AND dl.MessageType IN (N'//redial/audit/event')
    ) AS o
    ORDER BY o.FirstId, o.MessageSequence, o.DeadLetterId;

    WHILE @WhatIf = 0
    BEGIN
        SELECT TOP (1) @unit = l.Unit, @firstHandle = l.ConversationHandle
        FROM @letters AS l
        WHERE l.Unit >= @unit AND l.Outcome IS NULL
        ORDER BY l.Unit;
        IF @@ROWCOUNT = 0
            BREAK;

        BEGIN TRY
            DELETE FROM @marked;
            DELETE FROM @messages;
            SET @outcome = NULL;
            BEGIN TRANSACTION;

            /* ------------------------------------------------------------------------------------ */
            /* 2  The gate. HOLDLOCK keeps it open until we commit: there is no R a drain could meet   */
            /* ------------------------------------------------------------------------------------ */
            IF EXISTS (SELECT 1 FROM [audit].[Gate] AS g
                           WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)
                       WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                THROW 50172, N'The gate is closed: this configuration is being drained. Next: usp_OpenGate, then call again.', 1;

            /* ------------------------------------------------------------------------------------ */
            /* 3  Mark first: the mark is the right to send, and two operators cannot both have it     */
            /* ------------------------------------------------------------------------------------ */
            UPDATE dl
            SET HandledUtc = SYSUTCDATETIME(),
                HandledBy = ORIGINAL_LOGIN(),
                Handling = N'replayed',
                HandlingReason = @reason
            OUTPUT INSERTED.DeadLetterId, INSERTED.MessageSequence, INSERTED.MessageType, INSERTED.Body
            INTO @marked (DeadLetterId, MessageSequence, MessageType, Body)
            FROM [audit].[DeadLetter] AS dl
                /* READPAST: as above. ROWLOCK, FORCESEEK: the range only. */
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
            WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
              AND dl.HandledUtc IS NULL
              AND dl.DeadLetterId IN (SELECT l.DeadLetterId FROM @letters AS l WHERE l.Unit = @unit AND l.Outcome IS NULL);

            INSERT INTO @messages (MessageSequence, MessageType, Body)
            SELECT m.MessageSequence, m.MessageType, m.Body
            FROM @marked AS m
            ORDER BY m.MessageSequence, m.DeadLetterId;
            SET @sent = @@ROWCOUNT;

            IF @sent > 0
            BEGIN
                EXECUTE [audit].[usp_SendPrivately] @messages = @messages, @resendOf = @firstHandle,
                    @reason = N'usp_ReplayDeadLetter', @handle = @newHandle OUTPUT;

                INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
                SELECT N'replay dead letters', CONCAT(@sent, N' from ', MIN(m.DeadLetterId), N' to ', MAX(m.DeadLetterId), N', on conversation ', @newHandle), @reason
                FROM @marked AS m;
            END;

            COMMIT TRANSACTION;
            SET @replayed = @replayed + @sent;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() = 50172 AND @replayed = 0
                THROW;
            SET @outcome = LEFT(CONCAT(N'kept: failed with ', ERROR_NUMBER(), CASE WHEN ERROR_NUMBER() = 8429 THEN N' (the target refuses it)' END, N': ', ERROR_MESSAGE()), 200);
        END CATCH;

        /* Of several one may be bad: one by one then, behind all others. */
        IF @outcome IS NOT NULL AND (SELECT COUNT(*) FROM @letters AS l WHERE l.Unit = @unit AND l.Outcome IS NULL) > 1
            UPDATE @letters SET Unit = 1000 + Position WHERE Unit = @unit AND Outcome IS NULL;
        ELSE
            UPDATE l
            SET Outcome = ISNULL(@outcome, CASE WHEN m.DeadLetterId IS NULL THEN N'kept: it is in use now; call again' ELSE N'replayed' END)
            FROM @letters AS l
            LEFT OUTER JOIN @marked AS m ON m.DeadLetterId = l.DeadLetterId
            WHERE l.Unit = @unit AND l.Outcome IS NULL;

        IF @Debug = 1
            PRINT CONCAT(N'Replayed so far: ', @replayed, N'; ', @outcome);
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  What became of each                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT dl.DeadLetterId, dl.ConversationHandle, dl.MessageSequence, dl.MessageType, DATALENGTH(dl.Body) AS BodyBytes,
        CASE WHEN l.Outcome IS NOT NULL THEN l.Outcome
             WHEN dl.HandledUtc IS NOT NULL
                 THEN CONCAT(N'kept: ', dl.Handling, N' at ', CONVERT(nvarchar(19), dl.HandledUtc, 120), N' UTC by ', dl.HandledBy)
             WHEN ISNULL(dl.MessageType, N'') NOT IN (N'//redial/audit/event')
                 THEN N'kept: its message type is not one that callers send'
             WHEN @WhatIf = 1 THEN N'would be replayed'
             ELSE N'kept: it is in use now; call again' END AS Outcome
    FROM [audit].[DeadLetter] AS dl
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)  /* as above */
    LEFT OUTER JOIN @letters AS l ON l.DeadLetterId = dl.DeadLetterId
    WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
    ORDER BY dl.DeadLetterId;

    RETURN 0;
END;
GO
