SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1031fcfc5adf5d632349df7b90e29926b6889bb855d324e4645fbd94eb8e7129'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1031fcfc5adf5d632349df7b90e29926b6889bb855d324e4645fbd94eb8e7129');
END;
GO
