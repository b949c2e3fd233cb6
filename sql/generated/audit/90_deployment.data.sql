SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'32a7ee2c7490f79c3935501e5b3484517db4df3b4bd4def639c22abcefe98cb2'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'32a7ee2c7490f79c3935501e5b3484517db4df3b4bd4def639c22abcefe98cb2');
END;
GO
