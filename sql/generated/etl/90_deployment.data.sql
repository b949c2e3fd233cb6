SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0b9b8b26230b2827aa138084fd211b6fdaac23daa4d4f7c6bed304abef278870'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'0b9b8b26230b2827aa138084fd211b6fdaac23daa4d4f7c6bed304abef278870');
END;
GO
