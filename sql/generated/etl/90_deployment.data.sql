SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3728d3da507f56ca68b194a88f3a85f20e895102d504b628e0b5bfadb91d21a9'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'3728d3da507f56ca68b194a88f3a85f20e895102d504b628e0b5bfadb91d21a9');
END;
GO
