SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'be68a2f12c7e8fac2f38991a763451e6c1287572b977e5c839d543f1658ed14b'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'be68a2f12c7e8fac2f38991a763451e6c1287572b977e5c839d543f1658ed14b');
END;
GO
