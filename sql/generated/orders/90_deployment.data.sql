SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9cad75c04821f9a5b6b669ccf573a22e4f9108f9ac6f9b227b8005d601cbc262'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'9cad75c04821f9a5b6b669ccf573a22e4f9108f9ac6f9b227b8005d601cbc262');
END;
GO
