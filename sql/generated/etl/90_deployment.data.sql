SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a9ddb7452c2efaf22f41df4bc11f8c24af6c32ff60b263486c94d7912c367569'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'a9ddb7452c2efaf22f41df4bc11f8c24af6c32ff60b263486c94d7912c367569');
END;
GO
