SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'bce2b3c6b32dcf9c861b5c5ab2e465692e868b3035a7907b81875ada5c182261'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'bce2b3c6b32dcf9c861b5c5ab2e465692e868b3035a7907b81875ada5c182261');
END;
GO
