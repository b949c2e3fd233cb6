SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9042a9b66919eedfe05c4a2d69362ff638eb8516c10f5c9eca4d310ce1ead5a7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'9042a9b66919eedfe05c4a2d69362ff638eb8516c10f5c9eca4d310ce1ead5a7');
END;
GO
