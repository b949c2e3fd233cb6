SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7ba14db69960e31b1a59f04cd42de0b447f40e1ff2ca52fde52d0109c2945746'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'7ba14db69960e31b1a59f04cd42de0b447f40e1ff2ca52fde52d0109c2945746');
END;
GO
