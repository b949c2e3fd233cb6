SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f97742f4822aacb927f892db515df83cf362ada9b33dcf0ec796d0fbc854ef19'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'f97742f4822aacb927f892db515df83cf362ada9b33dcf0ec796d0fbc854ef19');
END;
GO
