SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e80cbacd319df5474d1dc65718c3bb55a50c6e3d012aec588b4490db2a15bb06'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'e80cbacd319df5474d1dc65718c3bb55a50c6e3d012aec588b4490db2a15bb06');
END;
GO
