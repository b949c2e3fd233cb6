SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c130b49e7ee4bdb8687be9c8749db2222fcf0a200375ff9f34993a2d10baf0c8'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'c130b49e7ee4bdb8687be9c8749db2222fcf0a200375ff9f34993a2d10baf0c8');
END;
GO
