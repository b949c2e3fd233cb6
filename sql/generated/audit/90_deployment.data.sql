SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c5efb737f4a43e78932df9d84ad4d3c6417519ae1baa08b1d05cb405a9336e1d'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'c5efb737f4a43e78932df9d84ad4d3c6417519ae1baa08b1d05cb405a9336e1d');
END;
GO
