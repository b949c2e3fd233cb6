SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 2: who sent a message and when, out of its envelope.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [etl].[Migration] AS m WHERE m.Number = 2)
BEGIN
    BEGIN TRANSACTION;
    ALTER TABLE [etl].[Landing] ADD
        SentUtc datetime2(3) NULL,
        SenderLogin nvarchar(128) NULL,
        SenderApp nvarchar(128) NULL,
        SenderHost nvarchar(128) NULL;
    INSERT INTO [etl].[Migration] (Number, Name)
    VALUES (2, N'Landing_sender');
    COMMIT TRANSACTION;
END;
GO
