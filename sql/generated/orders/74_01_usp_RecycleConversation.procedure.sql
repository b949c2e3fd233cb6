SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit,               /* 1: its time has come. 0: the dialog has ended, drop its row */
    @waitMs int = 0                     /* how long to wait for the row; 0: not at all */
AS
/* Redial 0.1.0, configuration orders */
/* The second transaction of two_phase: takes R, then G, as usp_Send does. It waits for
   R a bounded time, holding nothing. Who deletes the row sends EndOfStream: once.
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error, 3 no row leads to it. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read opens a transaction */

    DECLARE @conversationKey nvarchar(200), @taken int = 0, @lockTimeout int = @@LOCK_TIMEOUT;

    /* ---- 1  Empty hands: no lock may be held on entry ---- */
    IF @@TRANCOUNT <> 0
        THROW 50120, N'usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ---- 2  Handle to key, holding nothing ---- */
            SET @conversationKey = NULL;
            SET @taken = 0;
            SELECT @conversationKey = sc.ConversationKey
            FROM [orders].[SessionConversations] AS sc
                /* NOWAIT: a sender may be writing this entry. READCOMMITTEDLOCK: a row version would
                   call an entry that is being written gone. */
                WITH (NOWAIT, READCOMMITTEDLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ---- 3  R, then G ---- */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;
                SET LOCK_TIMEOUT @waitMs;       /* for R alone; 0 is NOWAIT */
                DELETE sc
                FROM [orders].[SessionConversations] AS sc
                    /* The clustered key first, as senders do: by Handle it would deadlock. */
                    WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;
                SET LOCK_TIMEOUT @lockTimeout;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [orders].[usp_SendEndOfStream] @handle = @handle;
                COMMIT TRANSACTION;
            END;

            /* ---- 4  Nothing left to retry: the re-armed timer goes far away, G alone ---- */
            IF @sendEndOfStream = 1
                EXECUTE [orders].[usp_ArmTimer] @handle = @handle, @seconds = 3600;

            RETURN CASE WHEN @taken = 1 THEN 0 ELSE 3 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            SET LOCK_TIMEOUT @lockTimeout;
            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* Dead, nobody need be told: delete the row. */
            IF ERROR_NUMBER() IN (8426, 8429) AND @sendEndOfStream = 1
                SET @sendEndOfStream = 0;
            ELSE
            BEGIN
                EXECUTE [orders].[usp_LogError] @procedureName = N'usp_RecycleConversation', @handle = @handle;
                RETURN 2;
            END;
        END CATCH;
    END;
END;
GO
