SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9bf2483716ebd7af70e87fe809cb4973dd2165f17550a10f7ffa5ea1109b5c62'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'9bf2483716ebd7af70e87fe809cb4973dd2165f17550a10f7ffa5ea1109b5c62');
END;
GO
