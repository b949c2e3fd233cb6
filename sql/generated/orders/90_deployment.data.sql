SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2c5a5bc8cd525892ee7360909bda065065f50de01ebf1bf068047c8fbcbf68af'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2c5a5bc8cd525892ee7360909bda065065f50de01ebf1bf068047c8fbcbf68af');
END;
GO
