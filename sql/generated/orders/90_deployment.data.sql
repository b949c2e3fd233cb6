SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'035ac57ca0b5d7a9f8107fed3e146fcdcf8bbd28d5b2d8afd44dfe866e3a93d1'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'035ac57ca0b5d7a9f8107fed3e146fcdcf8bbd28d5b2d8afd44dfe866e3a93d1');
END;
GO
