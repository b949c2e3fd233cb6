SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'19889ba7a2e253ae675903755615e65e0e506cc9ae59acebcc311f9aba3caabb'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'19889ba7a2e253ae675903755615e65e0e506cc9ae59acebcc311f9aba3caabb');
END;
GO
