SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'96435e57fdd6bbcdde393342a10c9bb41844e80c55354f731eb63ff736d3a0c7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'96435e57fdd6bbcdde393342a10c9bb41844e80c55354f731eb63ff736d3a0c7');
END;
GO
