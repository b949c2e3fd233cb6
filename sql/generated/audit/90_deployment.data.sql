SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6dea4c3da6bafd63f8d7c699cbee8b1e3793a2f68b8b913aa6931834fedc43e0'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'6dea4c3da6bafd63f8d7c699cbee8b1e3793a2f68b8b913aa6931834fedc43e0');
END;
GO
