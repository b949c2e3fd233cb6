SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3c02b00185672ff480ffd1194eb64233f04b9218aec86c54c12d537eb1cd92d0'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'3c02b00185672ff480ffd1194eb64233f04b9218aec86c54c12d537eb1cd92d0');
END;
GO
