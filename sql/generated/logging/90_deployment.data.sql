SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ab7a5b0190a69106656d7b9b9bfc668add095252bb84c4dff609c5d5d6150e71'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'ab7a5b0190a69106656d7b9b9bfc668add095252bb84c4dff609c5d5d6150e71');
END;
GO
