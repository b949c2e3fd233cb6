SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1744edcacddf9f205401af6714f58529a6b71b282d0eb02f0367ed8465e3e9f7'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'1744edcacddf9f205401af6714f58529a6b71b282d0eb02f0367ed8465e3e9f7');
END;
GO
