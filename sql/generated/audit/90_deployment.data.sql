SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'31e857672bfec91f73d9192c986134641c9f71bf8f1d9b89d69a6f8370381d42'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'31e857672bfec91f73d9192c986134641c9f71bf8f1d9b89d69a6f8370381d42');
END;
GO
