SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'67af4c213bd983994dcfaa384c79f60afe643e51f076e9ec5813c5b6700d3ba2'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'67af4c213bd983994dcfaa384c79f60afe643e51f076e9ec5813c5b6700d3ba2');
END;
GO
