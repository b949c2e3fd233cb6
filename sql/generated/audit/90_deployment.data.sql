SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'93aaa4222ca8d80cec49a48bcc856b510523a95473d002540af43dc8e5f9bc99'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'93aaa4222ca8d80cec49a48bcc856b510523a95473d002540af43dc8e5f9bc99');
END;
GO
