SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f191b3cfabe60e85e8da5c1eeca1803dba0dfba11175748d852b0d4bc1175115'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'f191b3cfabe60e85e8da5c1eeca1803dba0dfba11175748d852b0d4bc1175115');
END;
GO
