SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'13a3bf241c8c48bdd76e0ee081cb5ceb05fa53e1e77c88e6f84d91d9e057a035'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'13a3bf241c8c48bdd76e0ee081cb5ceb05fa53e1e77c88e6f84d91d9e057a035');
END;
GO
