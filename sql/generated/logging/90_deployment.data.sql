SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ae64edc3e582caf4ac12d8f47ee98d1bb4e05337979f9ed2f51ddda1ce600f93'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'ae64edc3e582caf4ac12d8f47ee98d1bb4e05337979f9ed2f51ddda1ce600f93');
END;
GO
