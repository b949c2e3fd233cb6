SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1b5b64f002ad846a4ae3bdf47ad97e94471bc1665b57a4a9e918ba528b252e5e'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1b5b64f002ad846a4ae3bdf47ad97e94471bc1665b57a4a9e918ba528b252e5e');
END;
GO
