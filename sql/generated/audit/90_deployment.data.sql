SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cd5b3e4edb87a54ebbd2c23903eb388ee964c58ee548a7d7ade7432b2f9ab628'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'cd5b3e4edb87a54ebbd2c23903eb388ee964c58ee548a7d7ade7432b2f9ab628');
END;
GO
