SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ca6b7f1f56d36651e91ea13a35353af232af0440c6e88e8021f830c0984fea08'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'ca6b7f1f56d36651e91ea13a35353af232af0440c6e88e8021f830c0984fea08');
END;
GO
