SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT,
    @messageType sysname = NULL         /* unused; a usp_Send not yet replaced passes it: deployed beside callers */
AS
/* Redial 0.1.0, configuration audit */
/* The dialog to send on, found by the row of its key, or begun. Called inside a transaction, which then
   owns the row R to its end: nobody closes the dialog before the caller's SEND commits.
   Raises 50102 when the gate is closed, and in a transaction of usp_Send's own 2627 when another one made
   the key's row meanwhile (start over). Locks: R; then the groups of dialogs closed or begun here. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @rowHandle uniqueidentifier = NULL, @placeholder uniqueidentifier, @tries int = 0,
        @state char(2) = NULL, @vanished bit = 0;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @placed bit = 0;            /* 1: the row is ours, a placeholder, not yet with a dialog */
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;

    BEGIN TRY
        /* ---- 1  R ---------------------------------------------------------------------------- */
        WHILE @rowHandle IS NULL
        BEGIN
            SET @tries = @tries + 1;
            SET @handle = NULL;
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the
                   caller's SEND commits; S locks would deadlock on conversion.
                   ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
                   at every other session's row. Proved by the explorer: without UPDLOCK the
                   message after EndOfStream is found. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey;

            SET @rowHandle = @handle;

            /* ---- 2  First use: the row comes before the dialog, with a placeholder that is unique ---- */
            IF @rowHandle IS NULL
            BEGIN
                SET @placeholder = NEWID();

                BEGIN TRY
                    /* A key taken meanwhile must not doom what the caller did before. For this
                       statement only: with XACT_ABORT OFF a client's cancel leaves the transaction
                       open. Caught here, where it is still OFF: what a CATCH further out, under ON,
                       would make of it is unknown. */
                    IF @ownsTransaction = 0
                        SET XACT_ABORT OFF;

                    INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
                    VALUES (1, @conversationKey, @placeholder);
                    SELECT @rowHandle = @placeholder, @placed = 1;
                END TRY
                BEGIN CATCH
                    /* 2627: another transaction made the row first and has committed: look it
                       up. In a transaction of our own it dooms, and usp_Send starts over. */
                    IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @tries >= 5
                        THROW;
                END CATCH;

                IF @callerAborts = 1
                    SET XACT_ABORT ON;
            END;
        END;

        /* ---- 3  The gate, read after R is held: a drain closes it first and passes over R after ---- */
        IF EXISTS (SELECT 1
                   FROM [audit].[Gate] AS g
                       WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held */
                   WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ------------------------------------------------------------------------------------- */
        /* 4  A look at the state keeps dead handles from SEND: its 8426 may doom the transaction    */
        /*. NULL is gone, and nobody was told of its end: who does not see the dialogs    */
        /*    he begins cannot begin any (50104)                                                     */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)   /* whether a plain read waits for an END is unknown; we hold R */
            WHERE ce.conversation_handle = @handle;
            IF @state IS NULL
                SET @vanished = 1;
        END;

        /* ---- 5  Its time has come: we own the row, so we close it, nobody else can ---- */
        /* Nothing is closed in a call that found a dialog dead: the next attempt of usp_Send is for
           sending. A transaction that has sent on a dialog goes on with it: so its messages are
           in one order, whatever the dialog's age. */
        IF @deadHandle IS NULL AND @state IN ('SO', 'CO')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE()))))
        BEGIN
            BEGIN TRY
                /* As for SEND itself: a dead dialog must not doom the caller's work. */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead already, so nobody can or need be told. In a transaction of our
                   own XACT_ABORT has doomed it, and usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* Any other error: if EndOfStream went out before it, a caller who goes on must
                       not commit a row that leads to it, or it goes out again, or a message behind it
                       (S2). If not, the next send closes the dialog. */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1
                                   FROM sys.conversation_endpoints AS ce
                                       WITH (NOLOCK)    /* as above */
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                    BEGIN
                        DELETE sc
                        FROM [audit].[SessionConversations] AS sc
                            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1
                          AND sc.ConversationKey = @conversationKey
                          AND sc.Handle = @rowHandle;
                    END;

                    THROW;
                END;
            END CATCH;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;

            SET @deadHandle = @handle;      /* of no more use: begin the next one below */
        END;

        /* ---- 6  First use, or a dialog of no more use: begin one in the same row ---- */
        IF @placed = 1 OR @vanished = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
        BEGIN
            EXECUTE [audit].[usp_BeginConversation]
                @conversationKey = @conversationKey,
                @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction,
                @vanished = @vanished,
                @handle = @handle OUTPUT;
        END;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a placeholder. In a transaction of
           our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND @placed = 1 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [audit].[SessionConversations] AS sc
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as above: one row */
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey
              AND sc.Handle = @rowHandle;
        END;

        THROW;
    END CATCH;
END;
GO
