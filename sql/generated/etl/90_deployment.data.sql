SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f0798ffbf7b3715216dfe70827a03dd36915dee195d740f3f3111f516e1d4062'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'f0798ffbf7b3715216dfe70827a03dd36915dee195d740f3f3111f516e1d4062');
END;
GO
