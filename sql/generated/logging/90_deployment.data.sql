SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3a9f2f50f78375adb4185a814d7a97d02d010096108f0bc9c04c23dd552ab12d'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'3a9f2f50f78375adb4185a814d7a97d02d010096108f0bc9c04c23dd552ab12d');
END;
GO
