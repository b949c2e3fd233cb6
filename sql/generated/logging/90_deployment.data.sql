SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'aeb021cf1ad0d951b3acf3158ae1f36bfb213135b4d311bca48c2eb6b6cb79f1'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'aeb021cf1ad0d951b3acf3158ae1f36bfb213135b4d311bca48c2eb6b6cb79f1');
END;
GO
