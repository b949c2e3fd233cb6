SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'17bf71bf1a6c02c3f9655d5b4fe7a4ff7eda1b3ee113dfb43e6a39a3b099f7c3'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'17bf71bf1a6c02c3f9655d5b4fe7a4ff7eda1b3ee113dfb43e6a39a3b099f7c3');
END;
GO
