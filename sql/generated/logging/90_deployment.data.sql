SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'914947e7a3d759ee0ec5fb832f46b977a1949c5bdaebf36e472fd4ffe3eab69c'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'914947e7a3d759ee0ec5fb832f46b977a1949c5bdaebf36e472fd4ffe3eab69c');
END;
GO
