SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2feb79b2f57e25a873aff263db21ed6c751ed010465b0d7410e138cff9ff64c3'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'2feb79b2f57e25a873aff263db21ed6c751ed010465b0d7410e138cff9ff64c3');
END;
GO
