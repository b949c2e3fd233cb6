SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5f1ec6cc3448960ed3796b1adcf1f4992ce0d8396898b7bef9d2cfd1efe787f5'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'5f1ec6cc3448960ed3796b1adcf1f4992ce0d8396898b7bef9d2cfd1efe787f5');
END;
GO
