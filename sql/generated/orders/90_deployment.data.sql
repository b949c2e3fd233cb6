SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'79e1fc58b83400017e1729fd4a1e4195788b9fa6111d828afd2e9bd046d76828'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'79e1fc58b83400017e1729fd4a1e4195788b9fa6111d828afd2e9bd046d76828');
END;
GO
