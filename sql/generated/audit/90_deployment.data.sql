SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'960e305f479b5a7074adeda99d694256aa4c55627aa36add5d9e766e3ec1e5b7'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'960e305f479b5a7074adeda99d694256aa4c55627aa36add5d9e766e3ec1e5b7');
END;
GO
