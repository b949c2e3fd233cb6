SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5672051c7e9c31c03bc11b062ebd96e5cdf8a4a888bf7c0cba76cb070fdfb0b5'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'5672051c7e9c31c03bc11b062ebd96e5cdf8a4a888bf7c0cba76cb070fdfb0b5');
END;
GO
