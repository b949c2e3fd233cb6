SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cd9f6499619c84b778481068cd6bb00742cf1c2ae00199ffd6dda8141e63a837'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'cd9f6499619c84b778481068cd6bb00742cf1c2ae00199ffd6dda8141e63a837');
END;
GO
