SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2da90c6033ed5a4c7002af180f778a71b9406269f09c5d5bf9ef3ae002658eaa'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'2da90c6033ed5a4c7002af180f778a71b9406269f09c5d5bf9ef3ae002658eaa');
END;
GO
