SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f39004ab0282409e4edeed516de9bbbfe2eec9e6e5c851cc12839bca113f58f7'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'f39004ab0282409e4edeed516de9bbbfe2eec9e6e5c851cc12839bca113f58f7');
END;
GO
