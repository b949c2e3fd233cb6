SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd2f35fc90cb9a34c0197be37e014b541fb99feb397ab07b9b2030fb38077acf2'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'd2f35fc90cb9a34c0197be37e014b541fb99feb397ab07b9b2030fb38077acf2');
END;
GO
