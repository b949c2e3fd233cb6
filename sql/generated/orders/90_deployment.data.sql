SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'bf4808121699a53ea0a6bcddfb7aa1159853d4a719ddf3da2d278ae02b13c63e'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'bf4808121699a53ea0a6bcddfb7aa1159853d4a719ddf3da2d278ae02b13c63e');
END;
GO
