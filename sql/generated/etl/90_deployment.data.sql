SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'81039ed069165938923a5b75d11c7a162524251fad84a4b8c574f5f94e0ea7b1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'81039ed069165938923a5b75d11c7a162524251fad84a4b8c574f5f94e0ea7b1');
END;
GO
