SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0028fde641d55ad01809cd4f9543a4bb6d1611466638855013f3ade39dd8a8f4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'0028fde641d55ad01809cd4f9543a4bb6d1611466638855013f3ade39dd8a8f4');
END;
GO
