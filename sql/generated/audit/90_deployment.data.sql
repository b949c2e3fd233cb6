SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ed605724df9fa260531fad91e7a6bf5071291de9f7e34e0d08091c034d4c56d0'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'ed605724df9fa260531fad91e7a6bf5071291de9f7e34e0d08091c034d4c56d0');
END;
GO
