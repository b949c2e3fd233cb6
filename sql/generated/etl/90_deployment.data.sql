SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cfe3408e0791930aa3453bf3e2bed3bad47f43b7944e59f683fd14b3cfab4378'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'cfe3408e0791930aa3453bf3e2bed3bad47f43b7944e59f683fd14b3cfab4378');
END;
GO
