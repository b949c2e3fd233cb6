SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9c30ba1c0e4508d5928b5b4cdc9f97c32dba0e0eaebfc41b4e4db5d72cf7460b'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'9c30ba1c0e4508d5928b5b4cdc9f97c32dba0e0eaebfc41b4e4db5d72cf7460b');
END;
GO
