SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8498afe144f73f67420010c88b82c2b9f0c46dab02a7e27cac2c8f6a64e274fc'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'8498afe144f73f67420010c88b82c2b9f0c46dab02a7e27cac2c8f6a64e274fc');
END;
GO
