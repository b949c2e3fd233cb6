SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b6d4891f991cbdaf91f248c58226f2d8837706db0fe99608ea7334bf8c043413'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'b6d4891f991cbdaf91f248c58226f2d8837706db0fe99608ea7334bf8c043413');
END;
GO
