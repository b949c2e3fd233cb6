SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'bb9f422fe10573b1f03ae3cc6c24aa19de2d4b1ba95b1c33a35d7a80f565ea7c'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'bb9f422fe10573b1f03ae3cc6c24aa19de2d4b1ba95b1c33a35d7a80f565ea7c');
END;
GO
