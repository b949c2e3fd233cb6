SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'335dab1d9a98bd01c7c694f0b4b4eb7941e08a5df7c22e2f2c78f354c46f603e'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'335dab1d9a98bd01c7c694f0b4b4eb7941e08a5df7c22e2f2c78f354c46f603e');
END;
GO
