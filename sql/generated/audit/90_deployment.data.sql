SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'89a3d836dacdb59b2a923b6fc9b943bba962e6e6624cc335c77d1aedc4cf44d9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'89a3d836dacdb59b2a923b6fc9b943bba962e6e6624cc335c77d1aedc4cf44d9');
END;
GO
