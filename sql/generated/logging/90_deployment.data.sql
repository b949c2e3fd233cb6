SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'dcb44f3f1302893364326cd74062146d3db8a4a80550cca23eb9ae683329a5a0'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'dcb44f3f1302893364326cd74062146d3db8a4a80550cca23eb9ae683329a5a0');
END;
GO
