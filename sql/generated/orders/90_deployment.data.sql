SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd57aec41f93054dccfed5ddf7786eb72cc339f398c9e1b5645836b880d4cd2f2'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'd57aec41f93054dccfed5ddf7786eb72cc339f398c9e1b5645836b880d4cd2f2');
END;
GO
