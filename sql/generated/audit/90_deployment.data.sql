SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7efd3cca4f50178504bb04c719de0e08ea74ff86fa6c8c5e968caaf791888185'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'7efd3cca4f50178504bb04c719de0e08ea74ff86fa6c8c5e968caaf791888185');
END;
GO
