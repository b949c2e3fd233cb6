SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e8ced6c58a4b43d55812675e3c4eea98c42c218ffe3d157f912fc0e020856e8c'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'e8ced6c58a4b43d55812675e3c4eea98c42c218ffe3d157f912fc0e020856e8c');
END;
GO
