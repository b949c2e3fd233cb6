SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'489a167e8ea4da5b015860be1a32e7ae58067ce18095eefb600ce13685a6e7a7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'489a167e8ea4da5b015860be1a32e7ae58067ce18095eefb600ce13685a6e7a7');
END;
GO
