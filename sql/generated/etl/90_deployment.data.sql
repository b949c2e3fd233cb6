SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'db0d89bc20b10de0b6e30b4e82c8c74db04719f6beb8384ada682a10d957efdc'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'db0d89bc20b10de0b6e30b4e82c8c74db04719f6beb8384ada682a10d957efdc');
END;
GO
