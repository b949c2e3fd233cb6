SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'aa408ee7ec25b45bca1efc3d9cfadcde5bf4e2e8d34d4ad39547c7a759635b16'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'aa408ee7ec25b45bca1efc3d9cfadcde5bf4e2e8d34d4ad39547c7a759635b16');
END;
GO
