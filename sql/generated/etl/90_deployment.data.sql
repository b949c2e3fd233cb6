SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cf9aab49eb9868d93d093647c882ca2fcb55dd3764643cafe4c7f4cfc6e0116a'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'cf9aab49eb9868d93d093647c882ca2fcb55dd3764643cafe4c7f4cfc6e0116a');
END;
GO
