SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd3f6abc0eb1ec25186edb0008c83e9a48b3347ceedf00d6d8e9157e9c321c991'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'd3f6abc0eb1ec25186edb0008c83e9a48b3347ceedf00d6d8e9157e9c321c991');
END;
GO
