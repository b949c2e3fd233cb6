SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'48d17717e2a8e019ed4635e89f3ac67c726488e96d43037b6ae7d9915734f3a4'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'48d17717e2a8e019ed4635e89f3ac67c726488e96d43037b6ae7d9915734f3a4');
END;
GO
