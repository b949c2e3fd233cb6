SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'32303645ffcdb3eca827f028b82a1d085307ee842e18c59b94aa65c0099d1a01'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'32303645ffcdb3eca827f028b82a1d085307ee842e18c59b94aa65c0099d1a01');
END;
GO
