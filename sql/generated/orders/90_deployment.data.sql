SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6047cd69d53658e39729a5b132f4ccec89696f9c5ce3064e6c38a9ddd369602a'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'6047cd69d53658e39729a5b132f4ccec89696f9c5ce3064e6c38a9ddd369602a');
END;
GO
