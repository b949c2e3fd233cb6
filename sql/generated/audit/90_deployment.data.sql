SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'19052448270843213d64eb3da2f9e8ff7ef84e0fede2796ee5b9bc7f1741f3d9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'19052448270843213d64eb3da2f9e8ff7ef84e0fede2796ee5b9bc7f1741f3d9');
END;
GO
