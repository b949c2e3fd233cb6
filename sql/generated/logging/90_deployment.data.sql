SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'dd94835edcf3f84cc2ddd6bf38b52ff67ec8068a4523e861ba44a4f70092b485'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'dd94835edcf3f84cc2ddd6bf38b52ff67ec8068a4523e861ba44a4f70092b485');
END;
GO
