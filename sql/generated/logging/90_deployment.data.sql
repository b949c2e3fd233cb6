SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'91ae008c6e3f7fb8f19f75e71be10f35d3ee5e688c5987d942680045bf32aa11'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'91ae008c6e3f7fb8f19f75e71be10f35d3ee5e688c5987d942680045bf32aa11');
END;
GO
