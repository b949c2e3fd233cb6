SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4b6efaa85d3538179b0dcecba61059f64f03ad1bee3d549e7964e6537328ee37'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'4b6efaa85d3538179b0dcecba61059f64f03ad1bee3d549e7964e6537328ee37');
END;
GO
