SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'17e9d7e22ae7b8a5f5a8d4b005f1a37234ed150220c0128cc81b138e79d4df90'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'17e9d7e22ae7b8a5f5a8d4b005f1a37234ed150220c0128cc81b138e79d4df90');
END;
GO
