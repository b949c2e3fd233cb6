SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* How often a queue row made its transaction roll back. A row that reached the limit is
   dead-lettered unprocessed by whoever receives it next, so no row can bring the queue to the five
   rollbacks that switch it off. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[PoisonAttempt]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[PoisonAttempt]
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
    EXECUTE [orders].[usp_Mark] N'TABLE', N'PoisonAttempt';
    COMMIT TRANSACTION;
END;
GO
