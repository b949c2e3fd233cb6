SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'09c4b0cde0cd7705979ec6a4e8da494278ede7a4a3fb0e254ba80eadb8654217'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'09c4b0cde0cd7705979ec6a4e8da494278ede7a4a3fb0e254ba80eadb8654217');
END;
GO
