SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'32e5c1449242fe55cf6a46835d08e9a16f862ea4c5fa6af59240f826dd233710'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'32e5c1449242fe55cf6a46835d08e9a16f862ea4c5fa6af59240f826dd233710');
END;
GO
