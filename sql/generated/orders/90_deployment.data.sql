SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e8c540255977122eed3d2dcee25b5e47cacfc4f04b3a5ec1f6d31d9c32ff647f'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'e8c540255977122eed3d2dcee25b5e47cacfc4f04b3a5ec1f6d31d9c32ff647f');
END;
GO
