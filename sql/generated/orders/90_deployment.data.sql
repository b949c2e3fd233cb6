SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'132883de0f7d91202cdc477fd9a12060e0bc3c794717a263a03e4fe264a23f8a'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'132883de0f7d91202cdc477fd9a12060e0bc3c794717a263a03e4fe264a23f8a');
END;
GO
