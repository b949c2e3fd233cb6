SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'97cbb80e39acfad82c141c149a1fdbe5cb2652e97100a996b67f8ad533a94a4b'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'97cbb80e39acfad82c141c149a1fdbe5cb2652e97100a996b67f8ad533a94a4b');
END;
GO
