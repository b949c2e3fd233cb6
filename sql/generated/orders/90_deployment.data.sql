SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7c64429f70265ba6aaa68d53608a3bb59f8e41c5ed194b3c88ac80913ce2d339'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'7c64429f70265ba6aaa68d53608a3bb59f8e41c5ed194b3c88ac80913ce2d339');
END;
GO
