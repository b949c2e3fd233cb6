SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'd3401d175a1b2f2f83b24ccc0c6012c0a8dc503e68c03769ee910823da20afdb'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'd3401d175a1b2f2f83b24ccc0c6012c0a8dc503e68c03769ee910823da20afdb');
END;
GO
