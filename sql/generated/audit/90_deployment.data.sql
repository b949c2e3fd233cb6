SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4bc3d69e8017df617f1b420e2f717e5cf0cc3d844dcea1c15508adc2c6948a45'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'4bc3d69e8017df617f1b420e2f717e5cf0cc3d844dcea1c15508adc2c6948a45');
END;
GO
