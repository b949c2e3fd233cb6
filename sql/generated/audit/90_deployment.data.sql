SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'69bc9b4e862c879c7e72dbbb26c4aaa72e04dbba8dbf4aff00f24d4c9990e769'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'69bc9b4e862c879c7e72dbbb26c4aaa72e04dbba8dbf4aff00f24d4c9990e769');
END;
GO
