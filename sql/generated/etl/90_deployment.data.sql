SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'476dc1d58863ae90b199627c2783092f66c4484909cccd6a04c4b0861ca885aa'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'476dc1d58863ae90b199627c2783092f66c4484909cccd6a04c4b0861ca885aa');
END;
GO
