SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2c5bef082cfc356d079b56f55168bdf53ed7d9048a9e20fa1e8ce990610e7b46'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2c5bef082cfc356d079b56f55168bdf53ed7d9048a9e20fa1e8ce990610e7b46');
END;
GO
