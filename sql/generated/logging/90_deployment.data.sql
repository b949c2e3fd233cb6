SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ecc389a9174ef8c8bc2423f8560b698f9830dde715b0de0375e0b724c88e7d1b'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'ecc389a9174ef8c8bc2423f8560b698f9830dde715b0de0375e0b724c88e7d1b');
END;
GO
