SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'22812b9f8a36553bc8eea7dfa265d94dac7e4b8b62333b2f0fd56f7c2532ed86'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'22812b9f8a36553bc8eea7dfa265d94dac7e4b8b62333b2f0fd56f7c2532ed86');
END;
GO
