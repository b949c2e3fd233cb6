SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7b9b91e80693ae701f54fcbd16764d8cdaf428e9232b205b08738dfa4870476f'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'7b9b91e80693ae701f54fcbd16764d8cdaf428e9232b205b08738dfa4870476f');
END;
GO
