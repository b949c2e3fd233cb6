SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3ca16be3f58a571ccfefdb9c1f11e0c4b53610f58fa73806ce354c7d04129684'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'3ca16be3f58a571ccfefdb9c1f11e0c4b53610f58fa73806ce354c7d04129684');
END;
GO
