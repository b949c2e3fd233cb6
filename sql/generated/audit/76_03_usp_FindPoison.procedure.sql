SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_FindPoison]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [audit].[ReceivedBatch] READONLY,   /* table variables survive the rollback */
    @lockErrors int = 0                 /* rollbacks of this conversation in a row after 1205 or 1222 */
AS
/* Redial 0.1.0, configuration audit */
/* Called from the CATCH block of usp_TargetActivation after the one rollback of a doomed batch: each
   row is tried alone and always undone, with no RECEIVE around it; what fails is recorded, and whoever
   receives it next dead-letters it. None fails: the next RECEIVE simply lands them. A batch of one is
   to blame itself: what failed may not fail again when it is tried alone.
   A deadlock (1205) and a lock that did not come (1222) blame no row the first time; the second time a
   row is to blame that meets a lock alone too, the third time a batch of one whatever it does alone: not
   even they may bring the queue to five rollbacks (F-367). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @row int = 0;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @tried int = 0;
    DECLARE @failed int = 0;
    /* Blamed for locks: up to the limit at once, for so many rollbacks have been already. */
    DECLARE @attempts int = CASE WHEN @lockErrors > 1 THEN 1 ELSE 1 END;

    IF @lockErrors = 1
        RETURN 0;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType,
            @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SET @tried = @tried + 1;
        BEGIN TRY
            BEGIN TRANSACTION;
            EXECUTE [audit].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
            ROLLBACK TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* Nor does the server's own trouble say anything against a row. */
            IF (@lockErrors > 1 OR ERROR_NUMBER() NOT IN (1205, 1222))
               AND (ERROR_SEVERITY() < 17 OR ERROR_NUMBER() >= 50000)
            BEGIN
                EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType, @attempts;
                SET @failed = @failed + 1;
            END;
        END CATCH;
    END;

    /* Here the error is the one of the batch again. */
    IF @tried = 1 AND @failed = 0 AND @lockErrors <> 2
        EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType, @attempts;

    RETURN 0;
END;
GO
