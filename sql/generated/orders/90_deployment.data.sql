SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'149fc6da977fd5f50c65f3dea0ad59b6f4928ee53287c1fe708e72bdfc2ab520'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'149fc6da977fd5f50c65f3dea0ad59b6f4928ee53287c1fe708e72bdfc2ab520');
END;
GO
