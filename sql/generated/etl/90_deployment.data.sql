SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'209841c11f85ba936c1cd86c3339f5ff129e1fad387c07bf34fcc15b1727999a'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'209841c11f85ba936c1cd86c3339f5ff129e1fad387c07bf34fcc15b1727999a');
END;
GO
