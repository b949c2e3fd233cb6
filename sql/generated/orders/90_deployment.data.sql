SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e4aec459f9da960bbe2c27348b9f1925670f5ae790441834166dec90c2cc8f4a'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'e4aec459f9da960bbe2c27348b9f1925670f5ae790441834166dec90c2cc8f4a');
END;
GO
