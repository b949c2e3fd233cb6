SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5f275844fb8fa6ac2e2f4ff8be50304fe03fdf99b5f539f1f4aef5c714583f8b'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'5f275844fb8fa6ac2e2f4ff8be50304fe03fdf99b5f539f1f4aef5c714583f8b');
END;
GO
