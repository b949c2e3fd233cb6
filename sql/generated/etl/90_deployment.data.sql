SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a635a696be0999e7d0af4ad96c5d95b593691cff5c82bf4b0210e1a32afcc00e'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'a635a696be0999e7d0af4ad96c5d95b593691cff5c82bf4b0210e1a32afcc00e');
END;
GO
