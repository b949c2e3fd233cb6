SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6aeef7047490ff748c04a321e7d47a5a4d1d2bc996fda2a2a9ee1941666980ce'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'6aeef7047490ff748c04a321e7d47a5a4d1d2bc996fda2a2a9ee1941666980ce');
END;
GO
