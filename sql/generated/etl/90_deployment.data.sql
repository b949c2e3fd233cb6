SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e49a50b449997127f2f611d7b351fdf1324c2ba3a34561217df2ec57109ddfa1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'e49a50b449997127f2f611d7b351fdf1324c2ba3a34561217df2ec57109ddfa1');
END;
GO
