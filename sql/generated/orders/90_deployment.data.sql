SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b06223a244e4f597f9aa6174c1fbbc584f6fc4f7ee2dd13f92dfaad7c8b2cdf9'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'b06223a244e4f597f9aa6174c1fbbc584f6fc4f7ee2dd13f92dfaad7c8b2cdf9');
END;
GO
