SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fbbcc59ffebb7c3f9e9c0665077f128e81b08b97abeb4fa205aaedf2f40b54c6'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'fbbcc59ffebb7c3f9e9c0665077f128e81b08b97abeb4fa205aaedf2f40b54c6');
END;
GO
