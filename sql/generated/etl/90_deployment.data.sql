SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ffe9537afbec86007e633b816374c9664e90dc19a5030dbb8e90d4e6066fb72f'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'ffe9537afbec86007e633b816374c9664e90dc19a5030dbb8e90d4e6066fb72f');
END;
GO
