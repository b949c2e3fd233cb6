SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'17c8f874feba98bb7daa2995eebb9b23edbad6c1f33710d6f905d4081480cdcc'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'17c8f874feba98bb7daa2995eebb9b23edbad6c1f33710d6f905d4081480cdcc');
END;
GO
