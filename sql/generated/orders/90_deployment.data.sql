SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'26d5f104f3b2d85a84ce67dc13cd0606fb4cbcdc9000cc61662392412999a928'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'26d5f104f3b2d85a84ce67dc13cd0606fb4cbcdc9000cc61662392412999a928');
END;
GO
