SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1fcacd4df8f61dff5c8a2dc6a2b00bb2c7aa0e49625d47e9edc30686af60d10f'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1fcacd4df8f61dff5c8a2dc6a2b00bb2c7aa0e49625d47e9edc30686af60d10f');
END;
GO
