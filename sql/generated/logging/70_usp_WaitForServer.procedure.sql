SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_WaitForServer]
    @handle uniqueidentifier,           /* the conversation it happened on; NULL: RECEIVE itself failed */
    @queueId int                        /* the queue of the reader that waits */
AS
/* Redial 0.1.0, configuration logging */
/* Called after a rollback that was the server's trouble (disk or log full, memory): another RECEIVE would be rolled
   back too, and five in a row switch the queue off. So something is written and undone until it can be;
   before each attempt we wait, holding nothing: five seconds, then longer, a minute at most.
   Returns 0, or 1 when the queue was switched off meanwhile. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @since datetime2(3) = SYSUTCDATETIME(), @seconds int = 5, @delay char(8),
        @message nvarchar(4000);

    WAITFOR DELAY '00:00:05';
    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            INSERT INTO [logging].[ErrorLog] (ProcedureName, ErrorMessage) VALUES (N'usp_WaitForServer', REPLICATE(N'x', 4000));
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
                       WHERE q.object_id = @queueId AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            RETURN 1;
        SET @seconds = CASE WHEN @seconds = 0 THEN 1 WHEN @seconds < 30 THEN @seconds * 2 ELSE 60 END;
        SET @delay = CONVERT(char(8), DATEADD(second, @seconds, CONVERT(datetime, 0)), 108);
        WAITFOR DELAY @delay;
    END;

    IF @seconds > 5
    BEGIN
        SET @message = CONCAT(N'It goes on after ', DATEDIFF(second, @since, SYSUTCDATETIME()),
            N' seconds of waiting: see the error before. Nothing was lost.');
        EXECUTE [logging].[usp_LogError] @procedureName = N'usp_WaitForServer', @handle = @handle, @message = @message;
    END;

    RETURN 0;
END;
GO
