SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f0543e760537e3c75be80a30dc3a1805efc1ecfcb71c85fb22438554bd6e7455'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'f0543e760537e3c75be80a30dc3a1805efc1ecfcb71c85fb22438554bd6e7455');
END;
GO
