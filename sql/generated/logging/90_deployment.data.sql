SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'73991de57833c60d3fc74bb0ce38dd151536fd11e0fb7dd04bafc32ccc9b5570'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'73991de57833c60d3fc74bb0ce38dd151536fd11e0fb7dd04bafc32ccc9b5570');
END;
GO
