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
/* Sends dead letters again, byte by byte as they were (a message id, a key's number and the sender in
   its envelope are kept), in sequence order, on one private dialog that is closed at once. One
   transaction marks and sends them, so none is replayed twice and none is marked and not sent. At most
   1,000 a call: more locks than 5,000 on one table would become a lock on all of it.
   Result set: DeadLetterId bigint, ConversationHandle uniqueidentifier, MessageSequence bigint,
   MessageType nvarchar(256), BodyBytes bigint, Outcome nvarchar(200). Returns 0. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET ROWCOUNT 0;                     /* a caller's would cut the list (F-331) */
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @letters TABLE
    (
        DeadLetterId bigint NOT NULL PRIMARY KEY,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NULL,
        Body varbinary(max) NULL
    );
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @newHandle uniqueidentifier = NULL;
    DECLARE @firstHandle uniqueidentifier;
    DECLARE @messages [audit].[ReceivedBatch];
    DECLARE @replayed bigint = 0;
    DECLARE @lastId bigint = ISNULL(@toDeadLetterId, @deadLetterId);

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help and inputs                                                                          */
    /* ----------------------------------------------------------------------------------------- */
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

    IF @@TRANCOUNT <> 0
        THROW 50171, N'usp_ReplayDeadLetter must be called outside a transaction: marks and messages are committed together, at once.', 1;
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

    IF @WhatIf = 0
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;

            /* ------------------------------------------------------------------------------------ */
            /* 2  The gate. HOLDLOCK keeps it open until we commit: there is no R a drain could meet   */
            /* ------------------------------------------------------------------------------------ */
            IF EXISTS (SELECT 1 FROM [audit].[Gate] AS g
                           WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)
                       WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                THROW 50172, N'The gate is closed: this configuration is being drained. Nothing was replayed. Next: usp_OpenGate, then call again.', 1;

            /* ------------------------------------------------------------------------------------ */
            /* 3  Mark first: the mark is the right to send, and two operators cannot both have it     */
            /* ------------------------------------------------------------------------------------ */
            UPDATE dl
            SET HandledUtc = SYSUTCDATETIME(),
                HandledBy = ORIGINAL_LOGIN(),
                Handling = N'replayed',
                HandlingReason = @reason
            OUTPUT INSERTED.DeadLetterId, INSERTED.ConversationHandle, INSERTED.MessageSequence, INSERTED.MessageType, INSERTED.Body
            INTO @letters (DeadLetterId, ConversationHandle, MessageSequence, MessageType, Body)
            FROM [audit].[DeadLetter] AS dl
                /* READPAST: a letter that is just being written or replayed is somebody's; activation
                   never waits for us, and we not for it. ROWLOCK, FORCESEEK: the range only. */
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)
            WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
              AND dl.HandledUtc IS NULL
              AND dl.MessageType IN (N'//redial/audit/event');

            /* ------------------------------------------------------------------------------------ */
            /* 4  Send, conversation by conversation, each in its own order                            */
            /* ------------------------------------------------------------------------------------ */
            INSERT INTO @messages (MessageSequence, MessageType, Body)
            SELECT l.MessageSequence, l.MessageType, l.Body
            FROM @letters AS l
            ORDER BY MIN(l.DeadLetterId) OVER (PARTITION BY l.ConversationHandle), l.MessageSequence, l.DeadLetterId;
            SET @replayed = @@ROWCOUNT;

            IF @replayed > 0
            BEGIN
                SET @firstHandle = (SELECT TOP (1) l.ConversationHandle FROM @letters AS l ORDER BY l.DeadLetterId);
                EXECUTE [audit].[usp_SendPrivately] @messages = @messages, @resendOf = @firstHandle,
                    @reason = N'usp_ReplayDeadLetter', @handle = @newHandle OUTPUT;

                INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
                VALUES (N'replay dead letters',
                    CONCAT(@replayed, N' of ', @deadLetterId, N' to ', @lastId, N', on conversation ', @newHandle), @reason);
            END;

            COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            THROW;
        END CATCH;
    END;

    IF @Debug = 1
        PRINT CONCAT(N'Replayed: ', @replayed, N', conversation ', ISNULL(CONVERT(nvarchar(36), @newHandle), N'none'));

    /* ----------------------------------------------------------------------------------------- */
    /* 5  What became of each                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT dl.DeadLetterId, dl.ConversationHandle, dl.MessageSequence, dl.MessageType, DATALENGTH(dl.Body) AS BodyBytes,
        CASE WHEN l.DeadLetterId IS NOT NULL THEN N'replayed'
             WHEN dl.HandledUtc IS NOT NULL
                 THEN CONCAT(N'kept: ', dl.Handling, N' at ', CONVERT(nvarchar(19), dl.HandledUtc, 120), N' UTC by ', dl.HandledBy)
             WHEN ISNULL(dl.MessageType, N'') NOT IN (N'//redial/audit/event')
                 THEN N'kept: its message type is not one that callers send'
             WHEN @WhatIf = 1 THEN N'would be replayed'
             ELSE N'kept: it is in use now; call again' END AS Outcome
    FROM [audit].[DeadLetter] AS dl
        WITH (READPAST, READCOMMITTEDLOCK, FORCESEEK)   /* as above */
    LEFT OUTER JOIN @letters AS l ON l.DeadLetterId = dl.DeadLetterId
    WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
    ORDER BY dl.DeadLetterId;

    RETURN 0;
END;
GO
