SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f44cf05b57f7722707965ecdafb8d0a5c38150581ba9f085060db23fac84aeb3'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'f44cf05b57f7722707965ecdafb8d0a5c38150581ba9f085060db23fac84aeb3');
END;
GO
