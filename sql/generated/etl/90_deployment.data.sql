SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'08f47b9486c8baa1dcbf178b032e4962573f2a25049f142af9e7375e3f3db65b'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'08f47b9486c8baa1dcbf178b032e4962573f2a25049f142af9e7375e3f3db65b');
END;
GO
