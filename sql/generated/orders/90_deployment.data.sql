SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'51b2792f0a7be4981d451b50f8c69e5613ec3c5c17ae621869a268a1f3035b5f'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'51b2792f0a7be4981d451b50f8c69e5613ec3c5c17ae621869a268a1f3035b5f');
END;
GO
