SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'48ac1b5241a3e8fe04971fc94839054539f769e7aa51dd0f6e846371821afb31'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'48ac1b5241a3e8fe04971fc94839054539f769e7aa51dd0f6e846371821afb31');
END;
GO
