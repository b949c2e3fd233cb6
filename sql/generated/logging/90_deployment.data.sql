SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b5cdd2da96c7e00cef40aa6ecd1d1fbb0fdcae835fd527069c5517ad00988731'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'b5cdd2da96c7e00cef40aa6ecd1d1fbb0fdcae835fd527069c5517ad00988731');
END;
GO
