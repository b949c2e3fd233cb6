SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'508410826eb4bb873f13e5758fc643e03cf8423568c9574433bba3a1e48f4ab9'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'508410826eb4bb873f13e5758fc643e03cf8423568c9574433bba3a1e48f4ab9');
END;
GO
