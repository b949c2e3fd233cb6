SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The drain gate: one row. Closed, usp_Send refuses (50102). A sender reads it after it holds what a
   drain will ask for (its row R), so a sender that saw it open is finished before the drain is. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[Gate]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[Gate]
    (
        ConfigId int NOT NULL,
        IsOpen bit NOT NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Gate_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        ChangedBy nvarchar(128) NOT NULL CONSTRAINT [DF_Gate_ChangedBy] DEFAULT (ORIGINAL_LOGIN()),
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_Gate] PRIMARY KEY CLUSTERED (ConfigId)
    );
    ALTER TABLE [logging].[Gate] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [logging].[usp_Mark] N'TABLE', N'Gate';
    COMMIT TRANSACTION;
END;
IF NOT EXISTS (SELECT 1 FROM [logging].[Gate] AS g WHERE g.ConfigId = 1)
BEGIN
    INSERT INTO [logging].[Gate] (ConfigId, IsOpen)
    VALUES (1, 1);
END;
GO
