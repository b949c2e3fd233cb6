SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cb2f736e60ea879c4d5f3537936e65b319c25c9a23d9d84062270a0775e8b4fa'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'cb2f736e60ea879c4d5f3537936e65b319c25c9a23d9d84062270a0775e8b4fa');
END;
GO
