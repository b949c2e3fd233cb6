SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'09b4c8267290f527e31f71e71103b33ba9cd9c8fdab4993d7ab2a2a27e0b86bc'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'09b4c8267290f527e31f71e71103b33ba9cd9c8fdab4993d7ab2a2a27e0b86bc');
END;
GO
