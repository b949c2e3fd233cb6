SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8f770106ac3505fdf36cdaeffb2f2e092a34f2e8bda5b8fbc5693e0b6bc009fc'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'8f770106ac3505fdf36cdaeffb2f2e092a34f2e8bda5b8fbc5693e0b6bc009fc');
END;
GO
