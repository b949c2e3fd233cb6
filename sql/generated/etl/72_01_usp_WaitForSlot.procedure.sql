SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_WaitForSlot]
    @slot nvarchar(200),
    @ownsTransaction bit                /* 1: usp_Send began the transaction, 0: its caller did */
AS
/* Redial 0.1.0, configuration etl */
/* Waits for one slot of the pool, 5000 ms at most, and keeps it to the end of the transaction.
   A procedure of its own, because SET LOCK_TIMEOUT ends with the procedure it is in.
   Returns 0 the slot is ours, 1 it is busy still. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @found int = 0;

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_WaitForSlot must be called inside the transaction that sends: the lock it waits for ends with it.', 1;

    /* A caller who waits less keeps its own limit; -1 is for ever. */
    IF @@LOCK_TIMEOUT NOT BETWEEN 0 AND 5000
        SET LOCK_TIMEOUT 5000;

    BEGIN TRY
        /* As for SEND: a busy pool must not doom what the caller did before. */
        IF @ownsTransaction = 0
            SET XACT_ABORT OFF;

        SELECT @found = 1
        FROM [etl].[SessionConversations] AS sc
            /* UPDLOCK, ROWLOCK, INDEX, FORCESEEK: as in usp_AcquireConversation; no READPAST: this
               one is waited for. READCOMMITTEDLOCK: by locks, whatever the database's option. */
            WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @slot;
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() <> 1222
            THROW;
    END CATCH;

    RETURN CASE WHEN @found = 1 THEN 0 ELSE 1 END;
END;
GO
