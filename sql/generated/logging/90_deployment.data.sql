SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fe9c196b3413f41e53f835bd8a991fbdd7cfc02a184ce03813840e10e7094f33'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'fe9c196b3413f41e53f835bd8a991fbdd7cfc02a184ce03813840e10e7094f33');
END;
GO
