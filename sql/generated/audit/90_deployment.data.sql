SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0bae1ae618bc75adc9fb9151031e3985c66c156a94a2a5469e75ce5b8ee379a4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'0bae1ae618bc75adc9fb9151031e3985c66c156a94a2a5469e75ce5b8ee379a4');
END;
GO
