SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5b36aa94a1706f36458a2454d43620d1d5a20d85ac12785496e3c12b954af4cd'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'5b36aa94a1706f36458a2454d43620d1d5a20d85ac12785496e3c12b954af4cd');
END;
GO
