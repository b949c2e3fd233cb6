SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'38048b8dbdaee70e28e8a99f1b7302ce24943eb07a7dc041717921fd0c12cb1c'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'38048b8dbdaee70e28e8a99f1b7302ce24943eb07a7dc041717921fd0c12cb1c');
END;
GO
