SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9decb0af63789d43361fc7049463af32b2d817e77ef52fee7aeab8b42c7c3a6a'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'9decb0af63789d43361fc7049463af32b2d817e77ef52fee7aeab8b42c7c3a6a');
END;
GO
