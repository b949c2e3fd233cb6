SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'469dc5e5ff9c838071ee386fa47697999cddc3a4d639ad11ea53c93c55064e1d'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'469dc5e5ff9c838071ee386fa47697999cddc3a4d639ad11ea53c93c55064e1d');
END;
GO
