SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The drain gate: one row. Closed, usp_Send refuses (50102). A sender reads it after it holds what a
   drain will ask for (its row R), so a sender that saw it open is finished before the drain is. */
IF OBJECT_ID(N'[etl].[Gate]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Gate]
    (
        ConfigId int NOT NULL,
        IsOpen bit NOT NULL,
        ChangedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Gate_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        ChangedBy nvarchar(128) NOT NULL
            CONSTRAINT [DF_Gate_ChangedBy] DEFAULT (ORIGINAL_LOGIN()),
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_Gate] PRIMARY KEY CLUSTERED (ConfigId)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    ALTER TABLE [etl].[Gate] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'Gate';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF NOT EXISTS (SELECT 1 FROM [etl].[Gate] AS g WHERE g.ConfigId = 1)
BEGIN
    INSERT INTO [etl].[Gate] (ConfigId, IsOpen)
    VALUES (1, 1);
END;
GO
