SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'20787cf6ca76877bd8ee6164711be32b7f0276a899afdb4b378a15a8e5b40ba5'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'20787cf6ca76877bd8ee6164711be32b7f0276a899afdb4b378a15a8e5b40ba5');
END;
GO
