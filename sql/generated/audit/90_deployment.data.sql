SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7dac8f341e5a33c4f97d5be4dd209f5715d5b2f5638623702cdbc93ab6a988f8'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'7dac8f341e5a33c4f97d5be4dd209f5715d5b2f5638623702cdbc93ab6a988f8');
END;
GO
