SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2a77205e1e80ad6b169f719185c72f9a236e5164779f19ebb0854f1a0e9ff34c'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'2a77205e1e80ad6b169f719185c72f9a236e5164779f19ebb0854f1a0e9ff34c');
END;
GO
