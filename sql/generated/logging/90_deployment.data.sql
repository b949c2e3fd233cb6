SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a548f01e0b4f9c44565c67213fbbeb984214cdb5fa5b3d308b98b2f9a4be387a'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'a548f01e0b4f9c44565c67213fbbeb984214cdb5fa5b3d308b98b2f9a4be387a');
END;
GO
