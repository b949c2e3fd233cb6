SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'93c17da7c7b101e91bdfdb5226b80690bc51e77357642d0bcbd7a013377f0979'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'93c17da7c7b101e91bdfdb5226b80690bc51e77357642d0bcbd7a013377f0979');
END;
GO
