SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2481183d9b31c114a90b5bc322e4ad66cfe99aa53c668ef3492fa709b00317b0'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'2481183d9b31c114a90b5bc322e4ad66cfe99aa53c668ef3492fa709b00317b0');
END;
GO
