SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9a3bc6968fc7c4dd54e3c784bc6001f232ddc2c21cdc55a27989b0e30a1d0825'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'9a3bc6968fc7c4dd54e3c784bc6001f232ddc2c21cdc55a27989b0e30a1d0825');
END;
GO
