SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_FindPoison]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [audit].[ReceivedBatch] READONLY,   /* table variables survive the rollback */
    @lockErrors int = 0                 /* unused; a reader not yet replaced passes it */
AS
/* Redial 0.1.0, configuration audit */
/* After the one rollback of a doomed batch, in the CATCH of usp_TargetActivation: each row is tried alone and
   undone, without a RECEIVE; what fails is recorded, and who receives it next dead-letters it. A batch of one is to
   blame itself. Returns 0; 1 the queue was switched off while the server was in trouble; 2 this conversation waits
   for the server's set-up (usp_PickConversation). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @left int, @row int = 0, @sequence bigint, @messageType nvarchar(256), @body varbinary(max),
        @tried int = 0, @failed int = 0;
    DECLARE @queueId int = OBJECT_ID(N'[audit].[TargetQueue]');
    DECLARE @waits bit = 0;             /* 1: the first row meets the server's set-up */

    IF @conversationId IS NULL AND NOT EXISTS (SELECT 1 FROM @rows) AND (ERROR_NUMBER() = 8426 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
    BEGIN                               /* RECEIVE itself failed; 8426: what was chosen is gone */
        EXECUTE @left = [audit].[usp_WaitForServer] NULL, @queueId;
        RETURN @left;
    END;

    IF ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009) AND EXISTS (SELECT 1 FROM @rows)
    BEGIN
        EXECUTE [audit].[usp_RecordPoison] @handle, -3, N'waits', 0;
        RETURN 2;
    END;

    /* The server's own trouble, or a lock: no row is to blame. */
    IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
    BEGIN
        EXECUTE @left = [audit].[usp_RehearseLanding] @conversationId, @handle, @rows;
        RETURN @left;
    END;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
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
            /* The server's own trouble blames no row. */
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
            BEGIN
                EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType;
                SET @failed = @failed + 1;
            END
            ELSE IF @tried = 1 AND ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009)
            BEGIN                       /* the next RECEIVE would be rolled back for it */
                EXECUTE [audit].[usp_RecordPoison] @handle, -3, N'waits', 0;
                SET @waits = 1;
            END;
        END CATCH;
    END;

    IF @tried = 1 AND @failed = 0 AND @waits = 0
        EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType;

    RETURN CASE @waits WHEN 1 THEN 2 ELSE 0 END;
END;
GO
