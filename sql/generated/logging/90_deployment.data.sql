SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'54f0b335f351db3d8bc5bb2a44d5886d4d62e9ee5f5524cb08af682151637f0a'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'54f0b335f351db3d8bc5bb2a44d5886d4d62e9ee5f5524cb08af682151637f0a');
END;
GO
