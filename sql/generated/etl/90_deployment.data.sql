SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'035e70427b0c4e4359bd3a04bb3c2ef6913a54b1f3c05a88bd6b0907316fab26'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'035e70427b0c4e4359bd3a04bb3c2ef6913a54b1f3c05a88bd6b0907316fab26');
END;
GO
