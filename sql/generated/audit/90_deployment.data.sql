SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cff618d4e7421872e33f2fa84a1cfbae869e2ce5fd13dd63fac0f482dbb37513'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'cff618d4e7421872e33f2fa84a1cfbae869e2ce5fd13dd63fac0f482dbb37513');
END;
GO
