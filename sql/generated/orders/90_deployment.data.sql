SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ebeb2be9107e39c3ecd76bdb8c6cda425d1b4450dd8f4fa30b13fa52f7f89218'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'ebeb2be9107e39c3ecd76bdb8c6cda425d1b4450dd8f4fa30b13fa52f7f89218');
END;
GO
