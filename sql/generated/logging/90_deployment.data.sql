SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4274843f10feebc7ac9d5016bc61992753f6a74f5e46aef634eb15d097cf9f70'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'4274843f10feebc7ac9d5016bc61992753f6a74f5e46aef634eb15d097cf9f70');
END;
GO
