SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3e9f38d75f7cab73ad645a9cf31313ddd94ab8bee4fd8ff164511fa23deb4ae9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'3e9f38d75f7cab73ad645a9cf31313ddd94ab8bee4fd8ff164511fa23deb4ae9');
END;
GO
