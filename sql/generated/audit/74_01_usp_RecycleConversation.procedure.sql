SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit,               /* 1: its time has come. 0: the dialog has ended, drop its row */
    @waitMs int = 0                     /* how long to queue up for the row with its senders; 0: not at all */
AS
/* Redial 0.1.0, configuration audit */
/* The second transaction of two_phase: takes R, then G, as usp_Send does. It waits for R only
   when told to, a bounded time and holding nothing, and for N not at all: nobody can wait for it then.
   Deleting the row is the right to send EndOfStream, so it is sent once.
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error, 3 no row leads to the
   dialog (any more): nothing was done. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* no savepoints here: any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction */

    DECLARE @conversationKey nvarchar(200), @taken int = 0, @lockTimeout int = @@LOCK_TIMEOUT;

    /* ---- 1  The proof needs empty hands: no lock may be held on entry ------------------------ */
    IF @@TRANCOUNT <> 0
        THROW 50120, N'usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ---- 2  Handle to key, holding nothing ------------------------------------------- */
            SET @conversationKey = NULL;
            SET @taken = 0;
            SELECT @conversationKey = sc.ConversationKey
            FROM [audit].[SessionConversations] AS sc
                /* A read of the Handle index by a short lock, which does not stay. NOWAIT: a sender
                   in a long transaction may be writing this entry, and a queue reader must not wait
                   for it. READCOMMITTEDLOCK: by locks under READ_COMMITTED_SNAPSHOT too, where a
                   row version would call an entry that is just being written gone. */
                WITH (NOWAIT, READCOMMITTEDLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ---- 3  R, then G ---------------------------------------------------------------- */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;

                SET LOCK_TIMEOUT @waitMs;       /* for R and no other wait; 0 is NOWAIT */

                DELETE sc
                FROM [audit].[SessionConversations] AS sc
                    /* INDEX, FORCESEEK: locks the clustered key first, the Handle entry after it. By
                       Handle it would be the other way round and deadlock with a sender.
                       A busy row is in use by a sender; the re-armed timer asks again.
                       ROWLOCK: one row. Handle is checked again, under the lock. */
                    WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                WHERE sc.ConfigId = 1
                  AND sc.ConversationKey = @conversationKey
                  AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;

                SET LOCK_TIMEOUT @lockTimeout;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;

                COMMIT TRANSACTION;
            END;

            /* ---- 4  Nothing left to retry: push the re-armed timer far away (it cannot be cancelled). Alone and holding nothing, so it only ever takes G ---- */
            IF @sendEndOfStream = 1
                EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 3600;

            RETURN CASE WHEN @taken = 1 THEN 0 ELSE 3 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            SET LOCK_TIMEOUT @lockTimeout;

            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* The dialog is dead, so nobody can or need be told: delete the row and stop. */
            IF ERROR_NUMBER() IN (8426, 8429) AND @sendEndOfStream = 1
                SET @sendEndOfStream = 0;
            ELSE
            BEGIN
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_RecycleConversation', @handle = @handle;
                RETURN 2;
            END;
        END CATCH;
    END;
END;
GO
