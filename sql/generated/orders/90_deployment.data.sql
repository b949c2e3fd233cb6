SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5f327b331b5de52454aaaf21dbb4426907033dc9d7dcd567927bfbe7c30fbaf7'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'5f327b331b5de52454aaaf21dbb4426907033dc9d7dcd567927bfbe7c30fbaf7');
END;
GO
