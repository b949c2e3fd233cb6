SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ca8ac9167943d92aa9d999169cf618ac51ea349aab68dbe95e5a4d1f2cbd903e'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'ca8ac9167943d92aa9d999169cf618ac51ea349aab68dbe95e5a4d1f2cbd903e');
END;
GO
