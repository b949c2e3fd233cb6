SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'48a567545b38c0ac3f8ea12d841057d732ac5bced2b760bcae93cdd38756e5bf'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'48a567545b38c0ac3f8ea12d841057d732ac5bced2b760bcae93cdd38756e5bf');
END;
GO
