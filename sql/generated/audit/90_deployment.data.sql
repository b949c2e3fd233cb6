SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'41b27fa15c5ef5c9faafa111cf6895d5381c43ddbfbfac87e23079e263b5a589'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'41b27fa15c5ef5c9faafa111cf6895d5381c43ddbfbfac87e23079e263b5a589');
END;
GO
