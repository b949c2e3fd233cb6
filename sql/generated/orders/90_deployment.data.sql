SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0bbb59482f92ba12c42f76405e726a06a891a99c6d4822f3fb4a8a27b7eb1e5c'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'0bbb59482f92ba12c42f76405e726a06a891a99c6d4822f3fb4a8a27b7eb1e5c');
END;
GO
