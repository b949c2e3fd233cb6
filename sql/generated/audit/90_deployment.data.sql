SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd48f4000be9663f82da4266ffd98ac052c1228d0302ec68bfc8ffd7fdeff8fdc'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'd48f4000be9663f82da4266ffd98ac052c1228d0302ec68bfc8ffd7fdeff8fdc');
END;
GO
