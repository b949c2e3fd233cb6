SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'31c2bd032672c98ef9710708d1984e1a5e7b84cf12b76bfc3837acae50b3f77a'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'31c2bd032672c98ef9710708d1984e1a5e7b84cf12b76bfc3837acae50b3f77a');
END;
GO
