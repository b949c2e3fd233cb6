SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'696e7688350fb9837a1d4db3c8a33cdb3a4ad68970c282d92647e90435304cf1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'696e7688350fb9837a1d4db3c8a33cdb3a4ad68970c282d92647e90435304cf1');
END;
GO
