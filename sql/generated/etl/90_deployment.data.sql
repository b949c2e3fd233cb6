SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'67acfeb4066cea37876c45c3e5593b52b0a2165ac0d37d0c9bbb9ae1f43a3c96'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'67acfeb4066cea37876c45c3e5593b52b0a2165ac0d37d0c9bbb9ae1f43a3c96');
END;
GO
