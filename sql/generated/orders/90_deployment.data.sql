SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd41644835c840225776c6a5b033dc64ed6e411d1cb8bf369eda8b53c83ef1e05'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'd41644835c840225776c6a5b033dc64ed6e411d1cb8bf369eda8b53c83ef1e05');
END;
GO
