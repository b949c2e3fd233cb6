SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8ef10cb77a2c290cf90c247b8f1ad6f2f7f796df9af3ce8dd6e825a9a96dddd5'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'8ef10cb77a2c290cf90c247b8f1ad6f2f7f796df9af3ce8dd6e825a9a96dddd5');
END;
GO
