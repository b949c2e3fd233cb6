SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'72e8334ba72df790ebc12d2ccde332081ab7f85d70ee4dc941545d50abe5f333'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'72e8334ba72df790ebc12d2ccde332081ab7f85d70ee4dc941545d50abe5f333');
END;
GO
