SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7e038e0a1c9304198afb032d0b54931f8e3dc5107baef902098cf477052d2e3a'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'7e038e0a1c9304198afb032d0b54931f8e3dc5107baef902098cf477052d2e3a');
END;
GO
