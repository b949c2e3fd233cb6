SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f885ed69b3c76cb9e39f55ba2d45be7228e4ec488b149677d5225297e1e452e1'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'f885ed69b3c76cb9e39f55ba2d45be7228e4ec488b149677d5225297e1e452e1');
END;
GO
