SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'aba0d96e3c59cdc5f3122a47eca775373b7d5232946442a78745dd687a0067e6'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'aba0d96e3c59cdc5f3122a47eca775373b7d5232946442a78745dd687a0067e6');
END;
GO
