SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'403f1894e38ec7fcf0642e6f09ddea68a2ce5668768e3fbd3d432e51aa0b610e'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'403f1894e38ec7fcf0642e6f09ddea68a2ce5668768e3fbd3d432e51aa0b610e');
END;
GO
