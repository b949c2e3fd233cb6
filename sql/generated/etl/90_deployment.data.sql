SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4a54b064912a39db3bbfceaeee98e4a0e6bf310bd365921a6914a2de6810075e'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'4a54b064912a39db3bbfceaeee98e4a0e6bf310bd365921a6914a2de6810075e');
END;
GO
