SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8fb6e80e16405e01028501a22e5d4bd81e3daef888aff2f7a063a12620ed21f6'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'8fb6e80e16405e01028501a22e5d4bd81e3daef888aff2f7a063a12620ed21f6');
END;
GO
