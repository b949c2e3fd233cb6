SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'09c9cca1ef91e6de25aabd0b317c0582ec876aa8c9a1c479c7da6f2287a032a4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'09c9cca1ef91e6de25aabd0b317c0582ec876aa8c9a1c479c7da6f2287a032a4');
END;
GO
