SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9103fd06a73ada9f7a444f7b57e1762245e89c65f9f31a3eca1f4f4a5d258eff'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'9103fd06a73ada9f7a444f7b57e1762245e89c65f9f31a3eca1f4f4a5d258eff');
END;
GO
