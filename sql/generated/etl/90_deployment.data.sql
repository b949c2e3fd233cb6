SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9e55708c3c75ee6ab73b5cd497e200eff133fda2a0b350e6660e9396e1cacdeb'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'9e55708c3c75ee6ab73b5cd497e200eff133fda2a0b350e6660e9396e1cacdeb');
END;
GO
