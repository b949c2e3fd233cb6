SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b9908d40bbc47a3d99b82c334be437becf8e035fb0f9df0aef39ad69e1096f84'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'b9908d40bbc47a3d99b82c334be437becf8e035fb0f9df0aef39ad69e1096f84');
END;
GO
