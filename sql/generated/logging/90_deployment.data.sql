SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'eb29b4d48fd2d1b7016d6a87ac4bc3e3886e2e49374530fd86c70f12a8a5259e'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'eb29b4d48fd2d1b7016d6a87ac4bc3e3886e2e49374530fd86c70f12a8a5259e');
END;
GO
