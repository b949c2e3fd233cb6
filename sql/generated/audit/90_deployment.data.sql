SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4b1864c1705f6c65e12ed25a3161037fa5dd183589b75da2ba58b9e50898c192'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'4b1864c1705f6c65e12ed25a3161037fa5dd183589b75da2ba58b9e50898c192');
END;
GO
