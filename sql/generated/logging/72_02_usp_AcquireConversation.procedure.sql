SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_AcquireConversation]
    @conversationKey nvarchar(200),     /* not used: there is one conversation */
    @deadHandle uniqueidentifier,       /* a handle this call has found dead already; NULL: none */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration logging */
/* The everlasting dialog: the open one in a conversation group that is fixed by the names of the
   configuration, so there is one for every session. Found by its handle: the view of endpoints is asked
   for that one, never for a group. Its senders wait for each other at SEND, until the first
   commits; send last in a transaction.
   Called inside a transaction. Raises 50102 when the gate is closed.
   Locks: the gate's row, shared; then the group of the dialog, in a first use or at SEND; then the row of
   Everlasting, which nobody waits for. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @isOpen bit = NULL, @conversationId uniqueidentifier, @other uniqueidentifier = NULL,
        @vanished bit = 0;

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: the lock it takes is what keeps the conversation open.', 1;

    /* ---- 1  The gate: its row is what a drain waits for ---- */
    SELECT @isOpen = g.IsOpen
    FROM [logging].[Gate] AS g
        WITH (REPEATABLEREAD, ROWLOCK, FORCESEEK)   /* a share lock that stays: a drain waits for us */
    WHERE g.ConfigId = 1;

    IF @isOpen = 0
        THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

    /* ---- 2  The look-up: the handle that is remembered, if it can be sent on ---- */
    SET @handle = NULL;
    SELECT @handle = ce.conversation_handle
    FROM [logging].[Everlasting] AS e
        WITH (NOLOCK, FORCESEEK)        /* its one row; its writer has the dialog's group, SEND waits for it */
    INNER JOIN sys.conversation_endpoints AS ce
        /* NOLOCK: waits for nobody. A dialog whose beginner has not committed is found too:
           SEND then waits for its group, and raises 8426 if it was rolled back. */
        WITH (NOLOCK)
        ON ce.conversation_handle = e.Handle
    WHERE e.ConfigId = 1
      AND ce.conversation_group_id = '54A9E148-F784-5F6A-830F-1A6F292962F7'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND NOT EXISTS (SELECT 1
                      FROM [logging].[ConversationLog] AS cl
                          WITH (FORCESEEK)      /* this dialog's row: one that was told to close */
                      WHERE cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL)
      AND ce.conversation_handle <> ISNULL(@deadHandle, '00000000-0000-0000-0000-000000000000');

    IF @handle IS NOT NULL
        RETURN 0;

    /* ---- 3  First use, or the last one has ended or failed: BEGIN DIALOG waits for a concurrent first user, who has the group; then look again ---- */
    /* The last one is gone and some of its messages have not landed: nobody was told of its end. */
    SELECT @vanished = 1
    FROM [logging].[Everlasting] AS e
        WITH (NOLOCK, FORCESEEK)        /* its one row */
    WHERE e.ConfigId = 1
      AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = e.Handle)
      AND EXISTS (SELECT 1 FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = e.ConversationId);

    EXECUTE [logging].[usp_BeginConversation]
        @ownsTransaction = @ownsTransaction,
        @vanished = @vanished,
        @handle = @handle OUTPUT,
        @conversationId = @conversationId OUTPUT;

    /* We hold the group now: whoever began one before us has committed, row and all. */
    SELECT @other = ce.conversation_handle
    FROM [logging].[Everlasting] AS e
        WITH (NOLOCK, FORCESEEK)        /* its one row; its writer has the dialog's group, SEND waits for it */
    INNER JOIN sys.conversation_endpoints AS ce
        /* NOLOCK: waits for nobody. A dialog whose beginner has not committed is found too:
           SEND then waits for its group, and raises 8426 if it was rolled back. */
        WITH (NOLOCK)
        ON ce.conversation_handle = e.Handle
    WHERE e.ConfigId = 1
      AND ce.conversation_group_id = '54A9E148-F784-5F6A-830F-1A6F292962F7'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND NOT EXISTS (SELECT 1
                      FROM [logging].[ConversationLog] AS cl
                          WITH (FORCESEEK)      /* this dialog's row: one that was told to close */
                      WHERE cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL)
      AND ce.conversation_handle <> ISNULL(@deadHandle, '00000000-0000-0000-0000-000000000000');

    IF @other IS NOT NULL
    BEGIN
        END CONVERSATION @handle;       /* nothing was sent on it */

        UPDATE cl
        SET EndedUtc = SYSUTCDATETIME(),
            Messages = 0,
            Reason = N'Not needed: another transaction began the everlasting dialog at the same time.'
        FROM [logging].[ConversationLog] AS cl
            WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* our own row, just made */
        WHERE cl.Handle = @handle;

        SET @handle = @other;
        RETURN 0;
    END;

    /* ---- 4  The others find it here. Only the owner of the group writes, so nobody waits ---- */
    UPDATE e
    SET Handle = @handle,
        ConversationId = @conversationId,
        Sent = 0
    FROM [logging].[Everlasting] AS e
        WITH (ROWLOCK, FORCESEEK)       /* its one row */
    WHERE e.ConfigId = 1;
    IF @@ROWCOUNT = 0
        INSERT INTO [logging].[Everlasting] (ConfigId, Handle, ConversationId)
        VALUES (1, @handle, @conversationId);

    RETURN 0;
END;
GO
