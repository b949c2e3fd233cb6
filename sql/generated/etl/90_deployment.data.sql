SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fceeb44723a276a431d8344a68ce90f2d8c2923a2be84d54849d748d90e94ae6'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'fceeb44723a276a431d8344a68ce90f2d8c2923a2be84d54849d748d90e94ae6');
END;
GO
