SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What usp_RetireIdle saw: how far each dialog had come, and since when it has not moved. So that no
   send has to write down when it was: the server counts a dialog's messages anyway. Only
   usp_RetireIdle reads and writes it. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[etl].[IdleWatch]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[IdleWatch]
    (
        Handle uniqueidentifier NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NOT NULL CONSTRAINT [DF_IdleWatch_SinceUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_IdleWatch] PRIMARY KEY CLUSTERED (Handle)
    );
    EXECUTE [etl].[usp_Mark] N'TABLE', N'IdleWatch';
    COMMIT TRANSACTION;
END;
GO
