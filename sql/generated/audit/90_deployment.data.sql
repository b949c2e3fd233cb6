SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4b1f55f930047cfcb4218d7c7d786ab4a7507bf9de93d7ed1dd18b37e574e3d1'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'4b1f55f930047cfcb4218d7c7d786ab4a7507bf9de93d7ed1dd18b37e574e3d1');
END;
GO
