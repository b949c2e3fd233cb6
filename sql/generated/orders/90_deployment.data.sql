SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8bef6a4788830d90e2980fe7373d896329c6c26dc7b12b0c51bb83dda559a66e'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'8bef6a4788830d90e2980fe7373d896329c6c26dc7b12b0c51bb83dda559a66e');
END;
GO
