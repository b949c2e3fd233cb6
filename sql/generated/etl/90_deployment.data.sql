SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f378869ff1d687b088f38a2c760eab4fa261c9d8c04b825f5b93b0bc528cbb7c'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'f378869ff1d687b088f38a2c760eab4fa261c9d8c04b825f5b93b0bc528cbb7c');
END;
GO
