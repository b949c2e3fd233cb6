SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c28ae2510b72e7aaa92cab99c7c5eafe9f2e50867479c167e20999fac993c3f5'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'c28ae2510b72e7aaa92cab99c7c5eafe9f2e50867479c167e20999fac993c3f5');
END;
GO
