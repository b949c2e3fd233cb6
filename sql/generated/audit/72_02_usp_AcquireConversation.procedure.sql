SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* found dead in this call; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT,
    @messageType sysname = NULL         /* unused; a usp_Send not yet replaced passes it */
AS
/* Redial 0.1.0, configuration audit */
/* The dialog to send on, found by the row of its key, or begun. The caller's transaction then owns the row R
   to its end. Raises 50102 when the gate is closed, and in a transaction of usp_Send's own 2627 when another
   one made the key's row meanwhile (start over). Locks: R; then the groups of dialogs closed or begun here. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @rowHandle uniqueidentifier = NULL, @placeholder uniqueidentifier, @tries int = 0,
        @state char(2) = NULL, @vanished bit = 0;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @placed bit = 0;            /* 1: our row is a placeholder, without dialog */
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent last */

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;

    BEGIN TRY
        /* ---- 1  R ---- */
        WHILE @rowHandle IS NULL
        BEGIN
            SET @tries = @tries + 1;
            SET @handle = NULL;
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* UPDLOCK: nobody closes the dialog before the caller's SEND commits. The rest: this row alone. */
                WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey;
            SET @rowHandle = @handle;

            /* ---- 2  First use: the row before the dialog, with a unique placeholder ---- */
            IF @rowHandle IS NULL
            BEGIN
                SET @placeholder = NEWID();
                BEGIN TRY
                    IF @ownsTransaction = 0
                        SET XACT_ABORT OFF;     /* a key taken meanwhile dooms no caller's work; caught under OFF */
                    INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
                    VALUES (1, @conversationKey, @placeholder);
                    SELECT @rowHandle = @placeholder, @placed = 1;
                END TRY
                BEGIN CATCH
                    /* 2627: another one made it and has committed: look it up. */
                    IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @tries >= 5
                        THROW;
                END CATCH;
                IF @callerAborts = 1
                    SET XACT_ABORT ON;
            END;
        END;

        /* ---- 3  The gate, read after R is held: a drain closes it first ---- */
        IF EXISTS (SELECT 1 FROM [audit].[Gate] AS g WITH (FORCESEEK) WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ---- 4  Its state: SEND on a dead handle may doom the transaction. NULL: gone unseen ---- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* R is held: wait for nobody */
            WHERE ce.conversation_handle = @handle;
            IF @state IS NULL
                SET @vanished = 1;
        END;

        /* ---- 5  Its time has come: closed by us, who own the row ---- */
        /* Not after a dead one: that attempt is for sending. Nor where this transaction has sent: its order. */
        IF @deadHandle IS NULL AND @state IN ('SO', 'CO')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE()))))
        BEGIN
            BEGIN TRY
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;     /* a dead dialog dooms no caller's work */
                EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead, nobody need be told; where that doomed, usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* EndOfStream went out: no caller may commit a row that leads behind it (S2). */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                        DELETE sc
                        FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;
                    THROW;
                END;
            END CATCH;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;
            SET @deadHandle = @handle;      /* the next one begins below */
        END;

        /* ---- 6  First use, or a dialog of no more use: begin one in the same row ---- */
        IF @placed = 1 OR @vanished = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
            EXECUTE [audit].[usp_BeginConversation] @conversationKey = @conversationKey, @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction, @vanished = @vanished, @handle = @handle OUTPUT;
    END TRY
    BEGIN CATCH
        /* A caller who goes on must not commit a placeholder; usp_Send rolls back its own. */
        IF @ownsTransaction = 0 AND @placed = 1 AND XACT_STATE() = 1
            DELETE sc
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;
        THROW;
    END CATCH;
END;
GO
