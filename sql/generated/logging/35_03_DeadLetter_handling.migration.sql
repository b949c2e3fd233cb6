SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 3: what an operator did with a dead letter, who and why.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [logging].[Migration] AS m WHERE m.Number = 3)
BEGIN
    BEGIN TRANSACTION;
    ALTER TABLE [logging].[DeadLetter] ADD
        HandledUtc datetime2(3) NULL,
        HandledBy nvarchar(128) NULL,
        Handling nvarchar(10) NULL,
        HandlingReason nvarchar(400) NULL;
    INSERT INTO [logging].[Migration] (Number, Name)
    VALUES (3, N'DeadLetter_handling');
    COMMIT TRANSACTION;
END;
GO
