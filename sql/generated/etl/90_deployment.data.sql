SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ff8e9d7a00e4c9eae3841a624233c090d0436267067c14dfd3fcc455c8bf14f2'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'ff8e9d7a00e4c9eae3841a624233c090d0436267067c14dfd3fcc455c8bf14f2');
END;
GO
