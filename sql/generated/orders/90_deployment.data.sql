SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'56bfcbaf30cfebed030f27ee11f734c59f0d9c9cc34a19c42bc9ef4e44587848'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'56bfcbaf30cfebed030f27ee11f734c59f0d9c9cc34a19c42bc9ef4e44587848');
END;
GO
