SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'862f89b2c891a3dd58a0940d568ff8bf3dc1588ba999e094d9c36bab54588eaf'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'862f89b2c891a3dd58a0940d568ff8bf3dc1588ba999e094d9c36bab54588eaf');
END;
GO
