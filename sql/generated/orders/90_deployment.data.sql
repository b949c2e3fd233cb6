SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5c3591601994c7af2ff61c3cdaefcefb7d02c31cb22f349ecf8a9795fb7b5260'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'5c3591601994c7af2ff61c3cdaefcefb7d02c31cb22f349ecf8a9795fb7b5260');
END;
GO
