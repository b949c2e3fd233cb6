SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2b06d7d4e70aee4e23bdd61fe7e6f56de9f1b174b3e8a34ee43e66758c1becff'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'2b06d7d4e70aee4e23bdd61fe7e6f56de9f1b174b3e8a34ee43e66758c1becff');
END;
GO
