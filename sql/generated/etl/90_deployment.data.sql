SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e658fab6abe72d4dcb72c11139544022e4ca06b366c8b9bffe058ea23755e759'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'e658fab6abe72d4dcb72c11139544022e4ca06b366c8b9bffe058ea23755e759');
END;
GO
