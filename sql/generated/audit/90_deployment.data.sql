SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'62f6d9bb33b5279ca90c968a6d6e2b2cdf6d0d65ca2c5e84e4106503970d7283'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'62f6d9bb33b5279ca90c968a6d6e2b2cdf6d0d65ca2c5e84e4106503970d7283');
END;
GO
