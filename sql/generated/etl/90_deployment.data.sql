SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd7bcade0e5c93f0bca4d18e502d50da00bb8e79aa7789762b7a66bc35596d4fe'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'd7bcade0e5c93f0bca4d18e502d50da00bb8e79aa7789762b7a66bc35596d4fe');
END;
GO
