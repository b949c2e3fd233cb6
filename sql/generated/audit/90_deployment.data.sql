SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a9151a9db3b08e429d5d3b9c7bb8224635086865a468fd15a1f1b8d4ea5027e6'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'a9151a9db3b08e429d5d3b9c7bb8224635086865a468fd15a1f1b8d4ea5027e6');
END;
GO
