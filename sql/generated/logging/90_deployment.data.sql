SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'27be8579518d3001c9e8d25cf20484fccbe11dded92d2caa9a77e2eb841996db'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'27be8579518d3001c9e8d25cf20484fccbe11dded92d2caa9a77e2eb841996db');
END;
GO
