SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f47cd70f3f01c0617c371a5957c5a8dbf2ee919715e4646c09a8b926022fe5b5'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'f47cd70f3f01c0617c371a5957c5a8dbf2ee919715e4646c09a8b926022fe5b5');
END;
GO
