SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7df5a8c6385596e6c4e43cab5603010896d9f0cd9d59fad3da5ba434c43c4c11'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'7df5a8c6385596e6c4e43cab5603010896d9f0cd9d59fad3da5ba434c43c4c11');
END;
GO
