SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c01d2c1d0e02ac1d1b896f1f7d188a7ac5e062ff11c5322ff338c2ffbc06c7a7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'c01d2c1d0e02ac1d1b896f1f7d188a7ac5e062ff11c5322ff338c2ffbc06c7a7');
END;
GO
