SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2c56dda47105a2404dcc5d5aef844d6963ceecb7bd7a832c5c688b791bfc4318'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2c56dda47105a2404dcc5d5aef844d6963ceecb7bd7a832c5c688b791bfc4318');
END;
GO
