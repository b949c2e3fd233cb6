SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'481193f3d5bb32895e3adf07972edbc31470f38837d28673ff5d7ceea3df06d4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'481193f3d5bb32895e3adf07972edbc31470f38837d28673ff5d7ceea3df06d4');
END;
GO
