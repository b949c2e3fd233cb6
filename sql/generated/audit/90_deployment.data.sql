SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c180902ca69efa70116ec2c9f77cecc0d29ceb1622a5af47017cc8820fdf52e4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'c180902ca69efa70116ec2c9f77cecc0d29ceb1622a5af47017cc8820fdf52e4');
END;
GO
