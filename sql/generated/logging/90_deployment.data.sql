SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4672dd473fe98151ceb687a58b0cd406f1eac2957ae47aec476fa4eef2275281'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'4672dd473fe98151ceb687a58b0cd406f1eac2957ae47aec476fa4eef2275281');
END;
GO
