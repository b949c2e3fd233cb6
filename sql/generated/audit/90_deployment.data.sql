SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5a84f4a736726fc17b69ac25b21dd5fe9b5f919aba376e222657fa126aff8d38'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'5a84f4a736726fc17b69ac25b21dd5fe9b5f919aba376e222657fa126aff8d38');
END;
GO
