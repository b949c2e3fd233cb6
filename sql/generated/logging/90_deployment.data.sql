SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'dd6ea19aa0c130c9c5eb892f85f5a85aa18cfc60af00d16fd8a6697d9c246039'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'dd6ea19aa0c130c9c5eb892f85f5a85aa18cfc60af00d16fd8a6697d9c246039');
END;
GO
