SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'00e68c555bcf1e1f0d3a95dc7e6fe805c77f03aea92c77d9dd104a2a2471f0eb'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'00e68c555bcf1e1f0d3a95dc7e6fe805c77f03aea92c77d9dd104a2a2471f0eb');
END;
GO
