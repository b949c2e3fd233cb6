SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'61aff9f37e8e3c9082440d2d0b6947a577aebd5ab8439136b633b8315fb28559'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'61aff9f37e8e3c9082440d2d0b6947a577aebd5ab8439136b633b8315fb28559');
END;
GO
