SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c261a1ba6bfc905e1f9628a106705ec7756a04b7be1660c3d283301fa9ad3bf8'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'c261a1ba6bfc905e1f9628a106705ec7756a04b7be1660c3d283301fa9ad3bf8');
END;
GO
