SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5111309ec0ad1518f3100e3537f2bd0e139e120710a706bd72bc45bb48874b0b'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'5111309ec0ad1518f3100e3537f2bd0e139e120710a706bd72bc45bb48874b0b');
END;
GO
