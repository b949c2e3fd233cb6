SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1f8f05c4967c0d37b31fa1d0b95c49d2e44177aa2bff1a9aa5b0eae140beff15'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'1f8f05c4967c0d37b31fa1d0b95c49d2e44177aa2bff1a9aa5b0eae140beff15');
END;
GO
