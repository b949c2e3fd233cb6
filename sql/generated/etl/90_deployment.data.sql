SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ef39c178e2d1b82b557293252b6657e675a52cbfac1ed7fc605ff02d434ed4d1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'ef39c178e2d1b82b557293252b6657e675a52cbfac1ed7fc605ff02d434ed4d1');
END;
GO
