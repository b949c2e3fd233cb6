SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e3d63ce0972f8e1810d55449e2d2a78f613f18f47e7d6c5d750a125c38795d48'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'e3d63ce0972f8e1810d55449e2d2a78f613f18f47e7d6c5d750a125c38795d48');
END;
GO
