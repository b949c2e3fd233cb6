SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f3b0faa4eea8da2a63766ec1df972f3a7a6d358806909142e9e991abb99da5b0'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'f3b0faa4eea8da2a63766ec1df972f3a7a6d358806909142e9e991abb99da5b0');
END;
GO
