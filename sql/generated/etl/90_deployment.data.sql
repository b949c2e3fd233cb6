SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c5b36f41e3941bc7c8600c9c2bc17cd64c431cba7ec197b015b52ab684a8014d'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'c5b36f41e3941bc7c8600c9c2bc17cd64c431cba7ec197b015b52ab684a8014d');
END;
GO
