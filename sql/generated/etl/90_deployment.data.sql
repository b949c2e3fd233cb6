SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'78dd3b052adeb4b94c526fdf4f8416723984f106cebf49fce5719f3673571ef8'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'78dd3b052adeb4b94c526fdf4f8416723984f106cebf49fce5719f3673571ef8');
END;
GO
