SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a21669acbe894e5942412b63bc8de9a7cc24abef57337faeee8b2a3e0c2a8ad8'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'a21669acbe894e5942412b63bc8de9a7cc24abef57337faeee8b2a3e0c2a8ad8');
END;
GO
