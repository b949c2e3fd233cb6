SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_AcquireConversation]
    @conversationKey nvarchar(200) OUTPUT,  /* the slot it found; any will do */
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT,
    @messageType sysname = NULL         /* unused; a usp_Send not yet replaced passes it: deployed beside callers */
AS
/* Redial 0.1.0, configuration etl */
/* A dialog of the pool to send on: the first free slot, counted from one that depends on the session.
   A slot is a row R; who holds its lock has it, so commit gives it back and no crash can leak it.
   Called inside a READ COMMITTED transaction. Raises 50101 when every slot stayed busy, 50102 when the
   gate is closed. Locks: R of one slot; then the groups of dialogs closed or begun here. It waits for R
   only when all slots are busy, and then for a bounded time. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    /* Sessions start at different slots, so that they seldom meet; the number is a key of four digits. */
    DECLARE @slot nvarchar(200) = NULL, @rowHandle uniqueidentifier, @busy int, @state char(2) = NULL,
        @vanished bit = 0;
    DECLARE @start nvarchar(200) = RIGHT(CONCAT(N'000', CONVERT(nvarchar(5), @@SPID % 16 + 1)), 4);
    DECLARE @ours nvarchar(200) = NULL; /* the slot this transaction took with an earlier message */
    DECLARE @begunUtc datetime2(3);     /* NULL: the slot has no dialog, its Handle is a placeholder */
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent last */
    DECLARE @messages bigint, @recycleAtUtc datetime2(3), @recycleAtMessages bigint;

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;

    /* -- 1  A caller's transaction keeps the slot of its first message, so its messages stay in order -- */
    SET @handle = NULL;
    IF @ownsTransaction = 0
    BEGIN
        /* Our own row is never passed over by READPAST, others' are, so nothing is waited for; what
           stays of an earlier transaction is no lock, and a number used again after a restart only
           proposes a slot, which is then taken like any other. */
        SELECT TOP (1) @ours = sc.ConversationKey
        FROM [etl].[SessionConversations] AS sc
            WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.TransactionId = CURRENT_TRANSACTION_ID();
    END;

    IF @ours IS NOT NULL
    BEGIN
        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @ours
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    /* -- 2  R: the first slot nobody holds, in the order of slots from ours to the last, then the rest -- */
    /* UPDLOCK: nobody recycles or sends on the slot before the caller's SEND commits.
       READPAST: a busy slot is passed over, not waited for; refused (650) under SERIALIZABLE and
       SNAPSHOT, which usp_Send has left.
       READCOMMITTEDLOCK: READPAST asks for it under READ_COMMITTED_SNAPSHOT.
       ROWLOCK, INDEX, FORCESEEK, TOP, ORDER BY: row after row of the clustered key, and no further than
       the first free one; a scan or a sort would lock all that are free. */
    IF @handle IS NULL
    BEGIN
        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey BETWEEN @start AND N'0016'
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    IF @handle IS NULL
    BEGIN
        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey >= N'0001' AND sc.ConversationKey < @start
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    IF @handle IS NULL                  /* all busy: wait for the one slot we start from, a bounded time */
    BEGIN
        EXECUTE @busy = [etl].[usp_WaitForSlot] @slot = @start, @ownsTransaction = @ownsTransaction;
        IF @busy <> 0
            THROW 50101, N'All 16 conversations of the pool were busy for 5000 ms or your LOCK_TIMEOUT. Nothing was sent. Next: send again, or deploy with a larger pool.size.', 1;

        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @start
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    SELECT @rowHandle = @handle, @conversationKey = @slot;

    /* -- 3  The gate, read after R is held: a drain closes it first and passes over R after -- */
    IF EXISTS (SELECT 1 FROM [etl].[Gate] AS g WITH (FORCESEEK) WHERE g.ConfigId = 1 AND g.IsOpen = 0)
        THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

    /* -- 4  A look at the state keeps dead handles from SEND: its 8426 may doom the transaction. NULL is gone, and nobody was told of its end: who does not see the dialogs he
             begins cannot begin any (50104) -- */
    IF @begunUtc IS NOT NULL
    BEGIN
        SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
        FROM sys.conversation_endpoints AS ce
            WITH (NOLOCK)               /* whether a plain read waits for an END is unknown */
        WHERE ce.conversation_handle = @handle;
        IF @state IS NULL
            SET @vanished = 1;
    END;

        /* ---- 5  Its time has come: closed by us, who own the row ---- */
        /* Not after a dead one: that attempt is for sending. Nor where this transaction has sent: its order. */
        IF @deadHandle IS NULL AND @state IN ('SO', 'CO')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE())
                      OR SYSUTCDATETIME() >= @recycleAtUtc OR @messages >= @recycleAtMessages
                      OR (@recycleAtUtc IS NULL AND @recycleAtMessages IS NULL))))
        BEGIN
            BEGIN TRY
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;     /* a dead dialog dooms no caller's work */
                EXECUTE [etl].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead, nobody need be told; where that doomed, usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* EndOfStream went out: no caller may commit a row that leads behind it (S2). */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                        UPDATE sc                       /* the slot stays, unused */
                        SET Handle = NEWID(),
                            ConversationId = NULL,
                            Sent = 0,
                            BegunUtc = NULL,
                            RecycleAtUtc = NULL,
                            RecycleAtMessages = NULL
                        FROM [etl].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1 AND sc.ConversationKey = @slot AND sc.Handle = @rowHandle;
                    THROW;
                END;
            END CATCH;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;
            SET @deadHandle = @handle;      /* the next one begins below */
        END;

    /* -- 6  The pool grows where a slot has no dialog; a dialog of no more use is replaced -- */
    IF @begunUtc IS NULL OR @vanished = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
    BEGIN
        EXECUTE [etl].[usp_BeginConversation]
            @conversationKey = @slot,
            @rowHandle = @rowHandle,
            @ownsTransaction = @ownsTransaction,
            @vanished = @vanished,
            @handle = @handle OUTPUT;
    END;
END;
GO
