SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0b4cc2fd999a7eb6e3cc72d9a710c0e60e70719f3c74cbe4808f8a50c682cb1d'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'0b4cc2fd999a7eb6e3cc72d9a710c0e60e70719f3c74cbe4808f8a50c682cb1d');
END;
GO
