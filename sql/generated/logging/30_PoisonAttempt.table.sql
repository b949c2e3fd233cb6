SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* How often a queue row made its transaction roll back. A row that reached the limit is
   dead-lettered unprocessed by whoever receives it next, so no row can bring the queue to the five
   rollbacks that switch it off (F-118). */
IF OBJECT_ID(N'[logging].[PoisonAttempt]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[PoisonAttempt]
    (
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Attempts int NOT NULL,
        LastUtc datetime2(3) NOT NULL,
        ErrorNumber int NULL,
        ErrorMessage nvarchar(3000) NULL,
        CONSTRAINT [PK_PoisonAttempt] PRIMARY KEY CLUSTERED
            (ConversationHandle, MessageSequence, MessageType)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'SCHEMA', @level0name = N'logging', @level1type = N'TABLE', @level1name = N'PoisonAttempt';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
