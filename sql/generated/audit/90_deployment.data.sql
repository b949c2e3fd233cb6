SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7a699531aaf6a807ba612fe62dd39d6a259b4e50e69cac0818d76870223e9645'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'7a699531aaf6a807ba612fe62dd39d6a259b4e50e69cac0818d76870223e9645');
END;
GO
