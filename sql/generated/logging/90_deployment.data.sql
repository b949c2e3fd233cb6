SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c1ab88e18a94bf5da4e2ddc1bbe5abbdfc82d513c78f54513f62a3ec6f9b8d7c'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'c1ab88e18a94bf5da4e2ddc1bbe5abbdfc82d513c78f54513f62a3ec6f9b8d7c');
END;
GO
