SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'777ac7846ee82545a8bf6aa03a02e1462db72e1c7acffd603eb2f8fb875577a9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'777ac7846ee82545a8bf6aa03a02e1462db72e1c7acffd603eb2f8fb875577a9');
END;
GO
