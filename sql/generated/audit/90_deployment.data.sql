SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f95c6e3b66ed77f095889f65ff98f47b5df456b94cf68ca357998e9301968bb3'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'f95c6e3b66ed77f095889f65ff98f47b5df456b94cf68ca357998e9301968bb3');
END;
GO
