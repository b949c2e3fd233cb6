SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c22e9280fb428c47c98fed5d24874e3fedfed035df24e2e0bdfe27e4547f8007'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'c22e9280fb428c47c98fed5d24874e3fedfed035df24e2e0bdfe27e4547f8007');
END;
GO
