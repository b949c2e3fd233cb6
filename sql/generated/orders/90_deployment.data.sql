SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cf4e8dcb3f53e6b3554d70a8970eb86c53ed1d6f5da72a2de26a142c4f3ee550'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'cf4e8dcb3f53e6b3554d70a8970eb86c53ed1d6f5da72a2de26a142c4f3ee550');
END;
GO
