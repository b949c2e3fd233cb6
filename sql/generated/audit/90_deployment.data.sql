SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7c0b98d8d6a1fb40f835fa1324cc551ad7a7cf2aa8c660810e59219a6105495b'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'7c0b98d8d6a1fb40f835fa1324cc551ad7a7cf2aa8c660810e59219a6105495b');
END;
GO
