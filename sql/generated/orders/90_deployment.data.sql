SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9ce6ad11edaef02e9176ec041681bf9d1ed3d6a18ce4e027fae807421db67b6e'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'9ce6ad11edaef02e9176ec041681bf9d1ed3d6a18ce4e027fae807421db67b6e');
END;
GO
