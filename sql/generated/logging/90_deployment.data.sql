SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cc36801338446aa2202a34cfccb877ef8d7ceba6165130b76cdcd3f8a1c0100e'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'cc36801338446aa2202a34cfccb877ef8d7ceba6165130b76cdcd3f8a1c0100e');
END;
GO
