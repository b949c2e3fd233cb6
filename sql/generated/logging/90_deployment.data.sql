SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4238009ba6968284a2c179d107d2b088c14df7cdf0fe0585d978e0201dc49b0a'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'4238009ba6968284a2c179d107d2b088c14df7cdf0fe0585d978e0201dc49b0a');
END;
GO
