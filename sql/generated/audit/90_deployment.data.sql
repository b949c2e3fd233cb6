SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'08b9e9fb4469acbeee0992982e96a1c397162e3fc49190314ea9d25f2897e30e'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'08b9e9fb4469acbeee0992982e96a1c397162e3fc49190314ea9d25f2897e30e');
END;
GO
