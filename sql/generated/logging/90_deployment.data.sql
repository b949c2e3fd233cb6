SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'342ca6485cc0df5f8cb0df0d1c8c80e9acb0acbc89eb3c137b4c7e20d616be3e'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'342ca6485cc0df5f8cb0df0d1c8c80e9acb0acbc89eb3c137b4c7e20d616be3e');
END;
GO
