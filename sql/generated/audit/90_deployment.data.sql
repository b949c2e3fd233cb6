SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ba629ef9ce28235800504fa51a8ecc3adcd6644adecdf8b282d5081371f91d83'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'ba629ef9ce28235800504fa51a8ecc3adcd6644adecdf8b282d5081371f91d83');
END;
GO
