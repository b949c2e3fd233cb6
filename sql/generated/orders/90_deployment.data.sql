SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'17ca43afcb690099c51115a2b84d7dd84964a6cfc748e94d619b620ac78890cb'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'17ca43afcb690099c51115a2b84d7dd84964a6cfc748e94d619b620ac78890cb');
END;
GO
