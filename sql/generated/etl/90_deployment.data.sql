SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7938aa5a76902c38e4e9d246a073417fb0211472572266143cc0774ce4d0e0f5'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'7938aa5a76902c38e4e9d246a073417fb0211472572266143cc0774ce4d0e0f5');
END;
GO
