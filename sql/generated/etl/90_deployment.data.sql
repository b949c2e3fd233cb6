SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3727c15e0c6d8dd4a67c4d603cc97aea0fc0e9c2091a42f732d5df8ddaa78646'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'3727c15e0c6d8dd4a67c4d603cc97aea0fc0e9c2091a42f732d5df8ddaa78646');
END;
GO
