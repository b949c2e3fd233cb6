SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'906e068434424a1ac3be6feec44ac546d81fdf138e62f86aab4042e21dc6a9e8'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'906e068434424a1ac3be6feec44ac546d81fdf138e62f86aab4042e21dc6a9e8');
END;
GO
