SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4ef7aa57dec5fefb04e52f4d68f644f34b7dc1ec8bc23ef7b44735723dba6ee1'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'4ef7aa57dec5fefb04e52f4d68f644f34b7dc1ec8bc23ef7b44735723dba6ee1');
END;
GO
