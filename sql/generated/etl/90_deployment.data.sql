SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'222bb2fe9fbbc7a31eb94543b81ee75da0da959f356b00b0f46eb2bf5cb5089d'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'222bb2fe9fbbc7a31eb94543b81ee75da0da959f356b00b0f46eb2bf5cb5089d');
END;
GO
