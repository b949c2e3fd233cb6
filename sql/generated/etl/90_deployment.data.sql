SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a83e96a2d3f81fe3a51bbea56ffa97f145bacdac655dea19b27409ebf48770c0'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'a83e96a2d3f81fe3a51bbea56ffa97f145bacdac655dea19b27409ebf48770c0');
END;
GO
