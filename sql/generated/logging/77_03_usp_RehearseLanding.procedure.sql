SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_RehearseLanding]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [logging].[ReceivedBatch] READONLY    /* the batch that was rolled back */
AS
/* Redial 0.1.0, configuration logging */
/* After a rollback that no row is to blame for (disk or log full, memory, a lock): five in a row switch the queue
   off. So the batch is tried and undone until it would land; between two attempts we wait, holding
   nothing: a second, then longer, a minute at most.
   Returns 0 it would land, or fails for another reason; 1 the queue was switched off meanwhile. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @copies int;

    DECLARE @since datetime2(3) = SYSUTCDATETIME(), @seconds int = 0, @delay char(8),
        @message nvarchar(4000);

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            /* The sender's copies first, as the reader does. XLOCK: what a DELETE of them would wait for. */
            SELECT @copies = COUNT(*)
            FROM @rows AS r
            INNER JOIN [logging].[SentMessage] AS sm WITH (XLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
                ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
            OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */
            EXECUTE [logging].[usp_LandBatch] @conversationId, @handle, @rows, @rehearse = 1;
            ROLLBACK TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                BREAK;                  /* something else: the next RECEIVE finds what */
        END CATCH;

        IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                       WHERE q.object_id = OBJECT_ID(N'[logging].[TargetQueue]') AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            RETURN 1;
        SET @seconds = CASE WHEN @seconds = 0 THEN 1 WHEN @seconds < 30 THEN @seconds * 2 ELSE 60 END;
        SET @delay = CONVERT(char(8), DATEADD(second, @seconds, CONVERT(datetime, 0)), 108);
        WAITFOR DELAY @delay;
    END;

    IF @seconds > 0
    BEGIN
        SET @message = CONCAT(N'It goes on after ', DATEDIFF(second, @since, SYSUTCDATETIME()),
            N' seconds of waiting: see the error before. Nothing was lost.');
        EXECUTE [logging].[usp_LogError] @procedureName = N'usp_RehearseLanding', @handle = @handle, @message = @message;
    END;

    RETURN 0;
END;
GO
