SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b6654e9b1139d91f1361d8d19dc18a4be10d89a9fb6f8ec19fec224cebcb5414'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'b6654e9b1139d91f1361d8d19dc18a4be10d89a9fb6f8ec19fec224cebcb5414');
END;
GO
