SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9dd4c6d8ae806fb5112f9b9e9b6a568cb95cd9d1d46fed9f8e39e392aaf7453c'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'9dd4c6d8ae806fb5112f9b9e9b6a568cb95cd9d1d46fed9f8e39e392aaf7453c');
END;
GO
