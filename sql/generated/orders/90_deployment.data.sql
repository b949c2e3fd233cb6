SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a004e00ed12d64c0dd49c67ba4bcc79dc35deb4ed1eaf7a40a68884265fdc69c'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'a004e00ed12d64c0dd49c67ba4bcc79dc35deb4ed1eaf7a40a68884265fdc69c');
END;
GO
