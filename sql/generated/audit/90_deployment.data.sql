SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'68173ad8960fed9efd965b73ee9255d4103ad07821ed9c4020a1c7328ee146ef'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'68173ad8960fed9efd965b73ee9255d4103ad07821ed9c4020a1c7328ee146ef');
END;
GO
