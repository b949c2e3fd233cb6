SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2918f60865208a8bdd01b8592a33fc70021b8a0a8a90f47e4d490e480e5a01e2'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2918f60865208a8bdd01b8592a33fc70021b8a0a8a90f47e4d490e480e5a01e2');
END;
GO
