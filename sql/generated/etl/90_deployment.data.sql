SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cc19dc5c1a795dfe794c590ab9b9e445b43aed715c8f79eaabc16a900476e6ec'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'cc19dc5c1a795dfe794c590ab9b9e445b43aed715c8f79eaabc16a900476e6ec');
END;
GO
