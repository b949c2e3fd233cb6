SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'51503efa66c9c6d609049b91c37a4c982bd6fda8ac493d27c704a3f190821c79'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'51503efa66c9c6d609049b91c37a4c982bd6fda8ac493d27c704a3f190821c79');
END;
GO
