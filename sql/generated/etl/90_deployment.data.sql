SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3ea01cea4772f6d74e04cffdf3d6dcb5db661768975bd04813f9844341706257'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'3ea01cea4772f6d74e04cffdf3d6dcb5db661768975bd04813f9844341706257');
END;
GO
