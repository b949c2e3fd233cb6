SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'059de2ef69d213876e5c8cd7a9f789abe8d5a6b87266d86a349fe59498b4b0a7'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'059de2ef69d213876e5c8cd7a9f789abe8d5a6b87266d86a349fe59498b4b0a7');
END;
GO
