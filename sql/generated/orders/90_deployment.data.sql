SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'58642f300fdda4e74ca22c3755452f2c46f8b084de6dacf5bd8b62d74198e9cc'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'58642f300fdda4e74ca22c3755452f2c46f8b084de6dacf5bd8b62d74198e9cc');
END;
GO
