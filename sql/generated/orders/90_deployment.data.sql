SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1c78abb3ea7280d4be4bc12732da56446c78018fdf8f9704648759e1aed72ef5'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'1c78abb3ea7280d4be4bc12732da56446c78018fdf8f9704648759e1aed72ef5');
END;
GO
