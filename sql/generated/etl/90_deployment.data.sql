SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6a6255232825e4bf36fa6fdc40c4492cd9e724b359ee6304ada63ee7ea20b169'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'6a6255232825e4bf36fa6fdc40c4492cd9e724b359ee6304ada63ee7ea20b169');
END;
GO
