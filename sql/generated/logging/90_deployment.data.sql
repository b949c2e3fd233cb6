SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9ac9d8116022f14b9c51953abf8d8418441a34b7c6528a1062671c1fe262efe2'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'9ac9d8116022f14b9c51953abf8d8418441a34b7c6528a1062671c1fe262efe2');
END;
GO
