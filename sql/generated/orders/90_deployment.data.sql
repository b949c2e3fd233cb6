SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4556b5a61697da2dcd01336c748a15bccb98b5fa849a22741ed4ec0e86550e44'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'4556b5a61697da2dcd01336c748a15bccb98b5fa849a22741ed4ec0e86550e44');
END;
GO
