SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'539e2d1cbb4dcdf9ea9f9745bbdd4adf54a72fbb4a2ebf9999b7134e9c2e7879'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'539e2d1cbb4dcdf9ea9f9745bbdd4adf54a72fbb4a2ebf9999b7134e9c2e7879');
END;
GO
