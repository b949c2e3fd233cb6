SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3d4556b649a8ff99f9105a6145e1643442b1336008e91716c253e4e4ae5f1db0'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'3d4556b649a8ff99f9105a6145e1643442b1336008e91716c253e4e4ae5f1db0');
END;
GO
