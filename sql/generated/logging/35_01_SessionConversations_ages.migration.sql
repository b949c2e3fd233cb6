SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 1: when a dialog is to be replaced; which slots of a pool are unused or taken.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [logging].[Migration] AS m WHERE m.Number = 1)
BEGIN
    BEGIN TRANSACTION;
    ALTER TABLE [logging].[SessionConversations] ADD
        BegunUtc datetime2(3) NULL,             /* pool: NULL stands for an unused slot */
        RecycleAtUtc datetime2(3) NULL,         /* aged_out: replaced by the first send after this */
        RecycleAtMessages bigint NULL,          /* aged_out: or after this many messages */
        TransactionId bigint NULL;              /* pool: who took the slot last */
    INSERT INTO [logging].[Migration] (Number, Name)
    VALUES (1, N'SessionConversations_ages');
    COMMIT TRANSACTION;
END;
GO
