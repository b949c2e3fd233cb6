SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd2eb4ed6398bb7a1b9d23e14b322c080a99c5221dbaf0485bdc4a5573162b9c7'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'd2eb4ed6398bb7a1b9d23e14b322c080a99c5221dbaf0485bdc4a5573162b9c7');
END;
GO
