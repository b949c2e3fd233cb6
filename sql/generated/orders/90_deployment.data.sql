SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ae07c3840d7c9da619338b68e183b2db8fd97ca7ade6d9d54f3d0747973ca72e'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'ae07c3840d7c9da619338b68e183b2db8fd97ca7ade6d9d54f3d0747973ca72e');
END;
GO
