SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8595026128fa7446c2f3ad43a9a8770a3f6dead5812fbb5f139427a8e052c589'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'8595026128fa7446c2f3ad43a9a8770a3f6dead5812fbb5f139427a8e052c589');
END;
GO
