SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cc1ebbbe58fbdea9190fd7a62e2b11dec52a1c5bfc65f0d267b54a7546dc4659'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'cc1ebbbe58fbdea9190fd7a62e2b11dec52a1c5bfc65f0d267b54a7546dc4659');
END;
GO
