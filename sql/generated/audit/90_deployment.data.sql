SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e46b4526fb6e41ad4d022f1582f3a5edd9b35fba97af4db483551201a9e83a42'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'e46b4526fb6e41ad4d022f1582f3a5edd9b35fba97af4db483551201a9e83a42');
END;
GO
