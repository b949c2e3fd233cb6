SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'201171f032dded90dcdbc1ec4efd7f553e9cdd12f85f379b3efdb0d696776898'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'201171f032dded90dcdbc1ec4efd7f553e9cdd12f85f379b3efdb0d696776898');
END;
GO
