SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3f937d325d4627c954ceca6d9dde78942b4869d8ea75fc3d17b99571d8fa14f1'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'3f937d325d4627c954ceca6d9dde78942b4869d8ea75fc3d17b99571d8fa14f1');
END;
GO
