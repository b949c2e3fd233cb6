SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'10761dbbd834a55b385e793394767863ba8cb6e9f0d99e2abe6fdd9949889406'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'10761dbbd834a55b385e793394767863ba8cb6e9f0d99e2abe6fdd9949889406');
END;
GO
