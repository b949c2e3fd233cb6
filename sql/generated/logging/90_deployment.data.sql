SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'322664cc055dbb1f8b67ab59accc94afbcbc9497025ec442d9070ac5973641cf'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'322664cc055dbb1f8b67ab59accc94afbcbc9497025ec442d9070ac5973641cf');
END;
GO
