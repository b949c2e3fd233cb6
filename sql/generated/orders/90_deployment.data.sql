SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'33574b7c4b9aeacbac3215c2d2b1f25943af183a235a22ade4663aaff22c517b'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'33574b7c4b9aeacbac3215c2d2b1f25943af183a235a22ade4663aaff22c517b');
END;
GO
