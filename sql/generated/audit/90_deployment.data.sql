SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'76620f30ce13d7bf5924b873fbdb788c06e7db7f4fa77cdb1f9941171d246456'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'76620f30ce13d7bf5924b873fbdb788c06e7db7f4fa77cdb1f9941171d246456');
END;
GO
