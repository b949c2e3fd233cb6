SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5c16d629b73b1452e1ef9b8c730da84373ab24ba2a6a16daa1c5718308905e9f'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'5c16d629b73b1452e1ef9b8c730da84373ab24ba2a6a16daa1c5718308905e9f');
END;
GO
