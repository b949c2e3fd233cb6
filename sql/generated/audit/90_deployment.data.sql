SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fb2dbaf533139a5d8591c1cfdb33aa450325fa26a2cb5cc7f1f1f63fd0e82821'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'fb2dbaf533139a5d8591c1cfdb33aa450325fa26a2cb5cc7f1f1f63fd0e82821');
END;
GO
