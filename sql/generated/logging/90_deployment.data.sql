SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'40646a830867cc459f1a283362208cfb47d5f0e7adb2a4a2333014844b72fb9a'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'40646a830867cc459f1a283362208cfb47d5f0e7adb2a4a2333014844b72fb9a');
END;
GO
