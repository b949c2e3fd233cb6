SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'20d5febdf76caafcfa7f031dc9bf2f3371d1490d855077cc885b40401f459dd8'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'20d5febdf76caafcfa7f031dc9bf2f3371d1490d855077cc885b40401f459dd8');
END;
GO
