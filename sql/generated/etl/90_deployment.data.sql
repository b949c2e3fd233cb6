SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3bda245a05d71cf8af42a468b2f185f90d3fefe979d02ac69540b8928a1cc11e'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'3bda245a05d71cf8af42a468b2f185f90d3fefe979d02ac69540b8928a1cc11e');
END;
GO
