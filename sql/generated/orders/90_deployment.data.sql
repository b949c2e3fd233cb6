SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'18b8e1fbd72be1bdaf61f83a55bb5c38e4325151306c6f30831d4890f4af8e14'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'18b8e1fbd72be1bdaf61f83a55bb5c38e4325151306c6f30831d4890f4af8e14');
END;
GO
