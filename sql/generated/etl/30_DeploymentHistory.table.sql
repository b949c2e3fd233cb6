SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[etl].[DeploymentHistory]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeploymentHistory]
    (
        DeploymentId int IDENTITY (1, 1) NOT NULL,
        DeployedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_DeploymentHistory_DeployedUtc] DEFAULT (SYSUTCDATETIME()),
        DeployedBy nvarchar(128) NOT NULL
            CONSTRAINT [DF_DeploymentHistory_DeployedBy] DEFAULT (ORIGINAL_LOGIN()),
        ConfigName nvarchar(128) NOT NULL,
        Version nvarchar(30) NOT NULL,
        ContentHash char(64) NOT NULL,
        CONSTRAINT [PK_DeploymentHistory] PRIMARY KEY CLUSTERED (DeploymentId)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'DeploymentHistory';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
