SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8a6f6cd6241a0ef4a47b85715636cc81cbf9428d60f11a084f2cd6f2a007ae3d'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'8a6f6cd6241a0ef4a47b85715636cc81cbf9428d60f11a084f2cd6f2a007ae3d');
END;
GO
