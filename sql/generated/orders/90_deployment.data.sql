SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ab932fced39218c480861c7de093d43342ce6ae59c2e2439cd73c6961a5bb9c2'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'ab932fced39218c480861c7de093d43342ce6ae59c2e2439cd73c6961a5bb9c2');
END;
GO
