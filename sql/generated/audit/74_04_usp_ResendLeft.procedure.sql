SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ResendLeft]
AS
/* Redial 0.1.0, configuration audit */
/* What usp_EndInitiator has left, by its marks: usp_ResendPending for each, with nothing around it that a failure
   would roll back. A lock that does not come, or the server's set-up, blames nothing, and the mark stays. Any other
   error is counted, 30 seconds apart; after five the copies go to DeadLetter. Returns 0, or 1: marks have
   stayed. Raises the server's own trouble. */
BEGIN
    SET NOCOUNT ON;
    SET LOCK_TIMEOUT 10000;             /* other dialogs are waiting for us */

    DECLARE @handle uniqueidentifier, @code int, @description nvarchar(3000), @allowResend bit;
    DECLARE @last uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @counted bit;               /* 1: it has failed a moment ago */
    DECLARE @busy int;
    DECLARE @attempts int, @stays int = 0;

    IF @@TRANCOUNT <> 0
        THROW 50127, N'usp_ResendLeft must be called outside a transaction: it may wait, and nothing may be held meanwhile.', 1;

    WHILE 1 = 1
    BEGIN
        SET @handle = NULL;
        SELECT TOP (1) @handle = pa.ConversationHandle, @code = cl.Code, @description = cl.Reason,
            @allowResend = CASE WHEN pa.Attempts < 5 THEN 1 ELSE 0 END,
            @counted = CASE WHEN pa.ErrorNumber IS NOT NULL AND pa.LastUtc > DATEADD(second, -30, SYSUTCDATETIME()) THEN 1 ELSE 0 END
        FROM [audit].[PoisonAttempt] AS pa WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)   /* one being written: its reader's */
        INNER JOIN [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)      /* written before the mark */
            ON cl.Handle = pa.ConversationHandle
        WHERE pa.ConversationHandle > @last AND pa.MessageSequence = -4 AND pa.MessageType = N'usp_ResendLeft'
        ORDER BY pa.ConversationHandle;
        IF @handle IS NULL
            RETURN @stays;
        SET @last = @handle;

        BEGIN TRY
            EXECUTE @busy = [audit].[usp_ResendPending] @handle = @handle, @code = @code, @description = @description,
                @allowResend = @allowResend, @waitMs = 100;
            SET @stays = @stays | @busy;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906))
                THROW;
            SET @stays = 1;

            /* 50112, 8426: somebody else is ending it, and may roll back: the mark stays a while. */
            IF ERROR_NUMBER() IN (50112, 8426)
                DELETE pa
                FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* no scan over others' rows */
                WHERE pa.ConversationHandle = @handle AND pa.LastUtc < DATEADD(minute, -10, SYSUTCDATETIME());
            ELSE IF @counted = 0 AND ERROR_NUMBER() NOT IN (1205, 1222)
            BEGIN
                SET @attempts = CASE WHEN ERROR_NUMBER() = 8427 OR ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009) THEN 0 ELSE 1 END;
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_ResendLeft', @handle = @handle;
                EXECUTE [audit].[usp_RecordPoison] @handle = @handle, @sequence = -4,
                    @messageType = N'usp_ResendLeft', @attempts = @attempts;
            END;
        END CATCH;
    END;
END;
GO
