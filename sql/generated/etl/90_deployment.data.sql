SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5171570b4ac8dc376e17116b9b75e85dc4737e5d89d9cc7b31199fbd06312037'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'5171570b4ac8dc376e17116b9b75e85dc4737e5d89d9cc7b31199fbd06312037');
END;
GO
