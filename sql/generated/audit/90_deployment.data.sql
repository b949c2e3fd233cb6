SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9c0c49589f500b39e6669cbedbcff3048d5e50f781866817a4e91dcc008c3877'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'9c0c49589f500b39e6669cbedbcff3048d5e50f781866817a4e91dcc008c3877');
END;
GO
