SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'be21d73c33b314304496bc4caaf16c2ace42f2077e25f5c5ff6574dc1354819a'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'be21d73c33b314304496bc4caaf16c2ace42f2077e25f5c5ff6574dc1354819a');
END;
GO
