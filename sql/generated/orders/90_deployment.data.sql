SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fb3b9e57742eb5bf8e33d09de3a701b36b86c25a6b6827d4610f1dfd65a2b77e'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'fb3b9e57742eb5bf8e33d09de3a701b36b86c25a6b6827d4610f1dfd65a2b77e');
END;
GO
