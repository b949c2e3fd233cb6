SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2ac84e143e4b3818b09bcb3255a6b2f3e6c51be28e1bf200634d07398f4c718b'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'2ac84e143e4b3818b09bcb3255a6b2f3e6c51be28e1bf200634d07398f4c718b');
END;
GO
