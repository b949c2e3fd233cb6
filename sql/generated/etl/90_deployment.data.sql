SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3ff309b6bd55237c0453a4868c57d2e60a83fd78bcce3f94948ef64b27040940'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'3ff309b6bd55237c0453a4868c57d2e60a83fd78bcce3f94948ef64b27040940');
END;
GO
