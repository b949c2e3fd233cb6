SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'070eb525f153bbbe2d0ec01ab280c6ed02a5fb619c66c39c529f431c0dfb085b'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'070eb525f153bbbe2d0ec01ab280c6ed02a5fb619c66c39c529f431c0dfb085b');
END;
GO
