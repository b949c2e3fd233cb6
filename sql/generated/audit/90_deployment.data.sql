SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'bef67b7052397538e65b51ae59675aacb418597fe72300b0c6ba2c533e83a5d9'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'bef67b7052397538e65b51ae59675aacb418597fe72300b0c6ba2c533e83a5d9');
END;
GO
