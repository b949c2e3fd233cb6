SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b25131147d1878d43c7bd9bcadc20230c58fbc5a02eb4a6b38cd05986a9effb4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'b25131147d1878d43c7bd9bcadc20230c58fbc5a02eb4a6b38cd05986a9effb4');
END;
GO
