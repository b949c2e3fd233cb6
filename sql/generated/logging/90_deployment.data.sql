SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'350c743ab4857a1fb5a171df76beaff51f449a567b7c00fcc8b3bb4d56434f32'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'350c743ab4857a1fb5a171df76beaff51f449a567b7c00fcc8b3bb4d56434f32');
END;
GO
