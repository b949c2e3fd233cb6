SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'83778d81b42def3b71b0d8a4993c044c8e76d0c5ee27f283398ffff414fa0773'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'83778d81b42def3b71b0d8a4993c044c8e76d0c5ee27f283398ffff414fa0773');
END;
GO
