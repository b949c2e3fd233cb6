SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5f5c40477b539244ee4ba1bb070b4dd580c93e1d2611e11f8fcf116d52bf7363'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'5f5c40477b539244ee4ba1bb070b4dd580c93e1d2611e11f8fcf116d52bf7363');
END;
GO
