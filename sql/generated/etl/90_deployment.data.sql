SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4b21ead69b969a40165f809e371324eb1e96d3a75f3e5eb2f1a0de703f609644'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'4b21ead69b969a40165f809e371324eb1e96d3a75f3e5eb2f1a0de703f609644');
END;
GO
