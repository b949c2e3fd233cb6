SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'eced3a8865e76f0d1a887912c77d50618ceead1e198fa41214e74a5fba80fb70'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'eced3a8865e76f0d1a887912c77d50618ceead1e198fa41214e74a5fba80fb70');
END;
GO
