SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9e1f10dbee13fdadc6a6871f7c0e34559d831bd5693b7dcc232fcdad2e53de29'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'9e1f10dbee13fdadc6a6871f7c0e34559d831bd5693b7dcc232fcdad2e53de29');
END;
GO
