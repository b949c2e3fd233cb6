SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'57ae9403f0c1bdd7870bda036feb954c39933058a48f2a73c1409bc0eefda9f3'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'57ae9403f0c1bdd7870bda036feb954c39933058a48f2a73c1409bc0eefda9f3');
END;
GO
