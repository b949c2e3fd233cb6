SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'793d048669c5f24fa2abac14c74e4f9da45456b160bca98282a7d3a58d154ffe'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'793d048669c5f24fa2abac14c74e4f9da45456b160bca98282a7d3a58d154ffe');
END;
GO
