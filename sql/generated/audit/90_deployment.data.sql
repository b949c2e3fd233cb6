SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3864ac398668ccc86cf5ab546ffdd60f0c3444758ff3953bb3f8292c103f570d'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'3864ac398668ccc86cf5ab546ffdd60f0c3444758ff3953bb3f8292c103f570d');
END;
GO
