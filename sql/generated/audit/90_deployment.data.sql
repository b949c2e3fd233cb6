SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8423e60053ac092ae81e977ab8b14a1e03edeea0ff45f3173b65e2c8992fc0e8'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'8423e60053ac092ae81e977ab8b14a1e03edeea0ff45f3173b65e2c8992fc0e8');
END;
GO
