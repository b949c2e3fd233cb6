SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd06f44ad4a05ac54c5fc49181cc38c4a3af14c19d140465b9296e60242aff7f9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'd06f44ad4a05ac54c5fc49181cc38c4a3af14c19d140465b9296e60242aff7f9');
END;
GO
