SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c1a9138ae4dce9b35c43339db932d49a83a52b1c460b64005da52c3f0604bddc'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'c1a9138ae4dce9b35c43339db932d49a83a52b1c460b64005da52c3f0604bddc');
END;
GO
