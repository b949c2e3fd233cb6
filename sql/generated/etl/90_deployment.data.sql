SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd4feadc6d3bfcf39ab454234693ee42251e7050c0a2c25aaebe215b7bfc8dfc8'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'd4feadc6d3bfcf39ab454234693ee42251e7050c0a2c25aaebe215b7bfc8dfc8');
END;
GO
