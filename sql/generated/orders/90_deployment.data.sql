SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'75f7e4e213bc6425aa012f54c7d26fbef6612a1a6c701581d975a8820bfa95a2'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'75f7e4e213bc6425aa012f54c7d26fbef6612a1a6c701581d975a8820bfa95a2');
END;
GO
