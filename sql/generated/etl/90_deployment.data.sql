SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2cc95ea4354aa356810cdf6d1b6c7d34eb89ca6f4380c68c576c25a74b08e8ba'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'2cc95ea4354aa356810cdf6d1b6c7d34eb89ca6f4380c68c576c25a74b08e8ba');
END;
GO
