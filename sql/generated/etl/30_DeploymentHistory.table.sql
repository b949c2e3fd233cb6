SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
SET XACT_ABORT ON;
IF OBJECT_ID(N'[etl].[DeploymentHistory]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeploymentHistory]
    (
        DeploymentId int IDENTITY (1, 1) NOT NULL,
        DeployedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentHistory_DeployedUtc] DEFAULT (SYSUTCDATETIME()),
        DeployedBy nvarchar(128) NOT NULL CONSTRAINT [DF_DeploymentHistory_DeployedBy] DEFAULT (ORIGINAL_LOGIN()),
        ConfigName nvarchar(128) NOT NULL,
        Version nvarchar(30) NOT NULL,
        ContentHash char(64) NOT NULL,
        CONSTRAINT [PK_DeploymentHistory] PRIMARY KEY CLUSTERED (DeploymentId)
    );
    EXECUTE [etl].[usp_Mark] N'TABLE', N'DeploymentHistory';
    COMMIT TRANSACTION;
END;
GO
