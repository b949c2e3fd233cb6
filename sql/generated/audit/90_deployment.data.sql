SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fcde541ca13f0c51c2c6e9c6fced7bc0ee929ade0804b4446385e5e7ca42cc4c'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'fcde541ca13f0c51c2c6e9c6fced7bc0ee929ade0804b4446385e5e7ca42cc4c');
END;
GO
