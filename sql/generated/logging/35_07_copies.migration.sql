SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 7: which messages of a dialog have a copy in SentMessage, and under which numbers.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [logging].[Migration] AS m WHERE m.Number = 7)
BEGIN
    DECLARE @lockTimeout int = @@LOCK_TIMEOUT;
    BEGIN TRY
        /* Senders wait behind this while it waits for one of them: not for long. */
        SET LOCK_TIMEOUT 30000;
        BEGIN TRANSACTION;
        ALTER TABLE [logging].[SessionConversations] ADD
            ConversationId uniqueidentifier NULL,   /* of the dialog; NULL: a placeholder, no dialog yet */
            Sent bigint NOT NULL                    /* messages sent on it: the next one's number */
                CONSTRAINT [DF_SessionConversations_Sent] DEFAULT (0);
        INSERT INTO [logging].[Migration] (Number, Name)
        VALUES (7, N'copies');
        COMMIT TRANSACTION;
        SET LOCK_TIMEOUT @lockTimeout;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET LOCK_TIMEOUT @lockTimeout;
        IF ERROR_NUMBER() <> 1222
            THROW;
        THROW 50190, N'Table SessionConversations could not be changed within 30 seconds: a sender''s transaction is open. Nothing was changed. Next: let that transaction end, then deploy again.', 1;
    END CATCH;
END;
GO
