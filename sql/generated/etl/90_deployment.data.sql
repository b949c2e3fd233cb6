SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ed4ed7bbdba13903dcc3ae0270f7f97f42634cee0e49a3b49c2c5498a33fe549'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'ed4ed7bbdba13903dcc3ae0270f7f97f42634cee0e49a3b49c2c5498a33fe549');
END;
GO
