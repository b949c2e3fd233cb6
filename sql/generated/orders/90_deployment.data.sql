SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2fe6b9b16516ff166bb5eac226bb201d3b829c8e5fd0ac9fa9ae7bd401d0b107'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2fe6b9b16516ff166bb5eac226bb201d3b829c8e5fd0ac9fa9ae7bd401d0b107');
END;
GO
