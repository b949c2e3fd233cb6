SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_RecordPoison]
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Counts one rollback against one queue row, in a transaction of its own: called from a CATCH block
   after the rollback, so the count outlives it. */
BEGIN
    SET NOCOUNT ON;

    UPDATE [logging].[PoisonAttempt]
    SET Attempts = Attempts + 1,
        LastUtc = SYSUTCDATETIME(),
        ErrorNumber = ERROR_NUMBER(),
        ErrorMessage = LEFT(ERROR_MESSAGE(), 3000)
    WHERE ConversationHandle = @handle
      AND MessageSequence = @sequence
      AND MessageType = @messageType;

    IF @@ROWCOUNT = 0
    BEGIN
        INSERT INTO [logging].[PoisonAttempt]
            (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc, ErrorNumber, ErrorMessage)
        VALUES
            (@handle, @sequence, @messageType, 1, SYSUTCDATETIME(), ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
    END;
END;
GO
