SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'46e090d0c29c9856a314b37a13d48236934a51b969d732bedb9dc454bcfbc45b'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'46e090d0c29c9856a314b37a13d48236934a51b969d732bedb9dc454bcfbc45b');
END;
GO
