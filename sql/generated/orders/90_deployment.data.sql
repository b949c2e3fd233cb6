SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a20e5540f0164245d7d23fd7e1b57d1da2d964468c7365ee9d17d936f88e7f16'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'a20e5540f0164245d7d23fd7e1b57d1da2d964468c7365ee9d17d936f88e7f16');
END;
GO
