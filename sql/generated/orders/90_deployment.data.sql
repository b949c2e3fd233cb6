SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd31a75ea4dfd3f9c94579166435e615f89460fa02e20a1cbbcb114c4723fb0d1'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'd31a75ea4dfd3f9c94579166435e615f89460fa02e20a1cbbcb114c4723fb0d1');
END;
GO
