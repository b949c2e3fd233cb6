SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8a7c26d5655bc870fb44f16d2861c591dff178d9c9482bc1858255bf5a3bb7e1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'8a7c26d5655bc870fb44f16d2861c591dff178d9c9482bc1858255bf5a3bb7e1');
END;
GO
