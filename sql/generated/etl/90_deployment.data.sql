SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'667bb8e466ed89ba1310d9659b121cd95e4e9fe654fae0513f4a60025c8fdf95'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'667bb8e466ed89ba1310d9659b121cd95e4e9fe654fae0513f4a60025c8fdf95');
END;
GO
