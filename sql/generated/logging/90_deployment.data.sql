SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6fe1299fbd103bc2bb0f7b2ce95de10b68bfa69a8ff389fc2847a5d0048b5f5f'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'6fe1299fbd103bc2bb0f7b2ce95de10b68bfa69a8ff389fc2847a5d0048b5f5f');
END;
GO
