SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7ea515d6e6441f7d67ac8a305d5a6bb2327ef4c4466aa76e103860b9904385d2'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'7ea515d6e6441f7d67ac8a305d5a6bb2327ef4c4466aa76e103860b9904385d2');
END;
GO
