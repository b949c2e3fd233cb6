SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd4b25170499b43ebe34ae20fee3cdc36f0cd141c31a38dcbf13c1f5c5e0458d0'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'd4b25170499b43ebe34ae20fee3cdc36f0cd141c31a38dcbf13c1f5c5e0458d0');
END;
GO
