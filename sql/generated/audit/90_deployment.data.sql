SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd7877ad15f969942dbfd37ca9a23e204ace2be4d4484bd97f251ecc20b2bd9e3'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'd7877ad15f969942dbfd37ca9a23e204ace2be4d4484bd97f251ecc20b2bd9e3');
END;
GO
