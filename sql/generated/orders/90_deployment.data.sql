SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'034c93891477c3edd5a8dd7ffc7c26e80d5baeb178d584f6f913ffcd84e2ea69'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'034c93891477c3edd5a8dd7ffc7c26e80d5baeb178d584f6f913ffcd84e2ea69');
END;
GO
