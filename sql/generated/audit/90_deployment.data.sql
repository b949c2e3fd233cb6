SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0a66aac9de36beb8673742def74aeb4ae2b35e6e947760d68c83a18324a5eaa9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'0a66aac9de36beb8673742def74aeb4ae2b35e6e947760d68c83a18324a5eaa9');
END;
GO
