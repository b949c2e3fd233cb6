SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fb0899cde7fdc455b1c596d97aac10fe316b5c8cd9bf97fe166993506dd9a4f9'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'fb0899cde7fdc455b1c596d97aac10fe316b5c8cd9bf97fe166993506dd9a4f9');
END;
GO
