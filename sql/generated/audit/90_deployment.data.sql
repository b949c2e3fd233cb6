SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8eef7efd2f419e05d23b5035aa4eee7da451ee09886137ba34a8edc69e8586f1'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'8eef7efd2f419e05d23b5035aa4eee7da451ee09886137ba34a8edc69e8586f1');
END;
GO
