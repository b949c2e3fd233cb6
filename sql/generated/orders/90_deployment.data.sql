SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'dbbe99c2daa693af15baada82a580fc049dcb4e56eaf6693dbe645bc43400729'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'dbbe99c2daa693af15baada82a580fc049dcb4e56eaf6693dbe645bc43400729');
END;
GO
