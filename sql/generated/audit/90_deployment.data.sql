SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ecc90156d9f67bff82f5cbf192f2bbe45e56f1046469ac291f050e32257fef4d'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'ecc90156d9f67bff82f5cbf192f2bbe45e56f1046469ac291f050e32257fef4d');
END;
GO
