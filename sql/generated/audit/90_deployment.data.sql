SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'94cd86f303e95bdf0f3bbdd476c4282dd49d3e4f7119b7a29942c68fea3f9cc6'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'94cd86f303e95bdf0f3bbdd476c4282dd49d3e4f7119b7a29942c68fea3f9cc6');
END;
GO
