SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'72a53c15e3f5ca96ce790b7c0357ae49e433b2c6928bfd063ec13a1cfc08f57f'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'72a53c15e3f5ca96ce790b7c0357ae49e433b2c6928bfd063ec13a1cfc08f57f');
END;
GO
