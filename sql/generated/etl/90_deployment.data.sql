SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e7d562a953e01af94843a631e0fd4df48a150e201d371ffe4aaed5249eb4750d'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'e7d562a953e01af94843a631e0fd4df48a150e201d371ffe4aaed5249eb4750d');
END;
GO
