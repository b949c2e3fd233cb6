SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd0eecaf66d823ef555d6243e98a8608b95fb9fa51406a490b2b82ed3427b6cc8'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'd0eecaf66d823ef555d6243e98a8608b95fb9fa51406a490b2b82ed3427b6cc8');
END;
GO
