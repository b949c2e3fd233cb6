SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2c006dbc9b5f0d5ba46d8458ca4ca25d9351d8bd69020195688a763c6a05520b'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'2c006dbc9b5f0d5ba46d8458ca4ca25d9351d8bd69020195688a763c6a05520b');
END;
GO
