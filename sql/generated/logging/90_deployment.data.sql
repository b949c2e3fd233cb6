SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'10891d6be219e0aff9210a057ee5d7d4b3684a71f406646999c2bfb114c286b3'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'10891d6be219e0aff9210a057ee5d7d4b3684a71f406646999c2bfb114c286b3');
END;
GO
