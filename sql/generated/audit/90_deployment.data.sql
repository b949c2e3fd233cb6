SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e854e497b81a69c61a6c6a3adfd71eeeadb9c04c21392ee5b1063df177eb0681'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'e854e497b81a69c61a6c6a3adfd71eeeadb9c04c21392ee5b1063df177eb0681');
END;
GO
