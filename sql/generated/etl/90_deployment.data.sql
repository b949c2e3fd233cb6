SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'74e91876ef5142dd33aa93f4ca100edb55756865c218e8a03df7568c48bde9e7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'74e91876ef5142dd33aa93f4ca100edb55756865c218e8a03df7568c48bde9e7');
END;
GO
