SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'46f8923fae1e535a8b614414450a5b8a8cba84a039214a67b2b2cb06a21f6efb'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'46f8923fae1e535a8b614414450a5b8a8cba84a039214a67b2b2cb06a21f6efb');
END;
GO
