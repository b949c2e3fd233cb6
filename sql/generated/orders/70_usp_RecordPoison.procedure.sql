SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_RecordPoison]
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @attempts int = 1                   /* how many rollbacks to count */
AS
/* Redial 0.1.0, configuration orders */
/* Counts rollbacks against one queue row, after the rollback: so the count outlives it. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @number int = ERROR_NUMBER(), @message nvarchar(3000) = LEFT(ERROR_MESSAGE(), 3000),
        @written bit = 0;

    WHILE @written = 0
    BEGIN
        UPDATE pa
        SET Attempts = pa.Attempts + @attempts, LastUtc = SYSUTCDATETIME(), ErrorNumber = @number, ErrorMessage = @message
        FROM [orders].[PoisonAttempt] AS pa
            WITH (ROWLOCK, INDEX ([PK_PoisonAttempt]), FORCESEEK)   /* a scan would wait for who waits for us */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = @sequence AND pa.MessageType = @messageType;
        IF @@ROWCOUNT > 0
            RETURN 0;

        BEGIN TRY
            INSERT INTO [orders].[PoisonAttempt]
                (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc, ErrorNumber, ErrorMessage)
            VALUES
                (@handle, @sequence, @messageType, @attempts, SYSUTCDATETIME(), @number, @message);
            SET @written = 1;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() <> 2627 OR XACT_STATE() = -1
                THROW;                  /* 2627: another reader was first */
        END CATCH;
    END;

    RETURN 0;
END;
GO
