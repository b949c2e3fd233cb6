SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3ff0bf9ea0955b610a98c8fa5e03a2b2274b293eab4803fe9df4f0b7c0e4224d'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'3ff0bf9ea0955b610a98c8fa5e03a2b2274b293eab4803fe9df4f0b7c0e4224d');
END;
GO
