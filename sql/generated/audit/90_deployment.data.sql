SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f9bce338bf0d97bd8444edf69fac517795e8b4ec8cbd7b73f925f37905a4649f'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'f9bce338bf0d97bd8444edf69fac517795e8b4ec8cbd7b73f925f37905a4649f');
END;
GO
