SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd4ce0ff8015a55ef3d8e72e7ea07bdda658f6905c31c1a1ce442551f51cb503d'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'd4ce0ff8015a55ef3d8e72e7ea07bdda658f6905c31c1a1ce442551f51cb503d');
END;
GO
