SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'427d8e7c68626bbeb3cd5fd4abaf5f49bceaf12dd102435b83d763672d2068d7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'427d8e7c68626bbeb3cd5fd4abaf5f49bceaf12dd102435b83d763672d2068d7');
END;
GO
