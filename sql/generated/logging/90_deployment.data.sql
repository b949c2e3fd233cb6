SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1ae734964bf57151a6b81258f3ac4c0ddc69171c3ea7c36e9c4a5daebb9c44a3'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1ae734964bf57151a6b81258f3ac4c0ddc69171c3ea7c36e9c4a5daebb9c44a3');
END;
GO
