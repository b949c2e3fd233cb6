SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2b051d07c12147f0c0a93b43eae5833d6505b867f1b474d952445e9c2dbab1c3'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2b051d07c12147f0c0a93b43eae5833d6505b867f1b474d952445e9c2dbab1c3');
END;
GO
