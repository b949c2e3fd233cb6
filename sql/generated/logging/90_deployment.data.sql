SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0c467f1cc9f91bf2bc4d9343dac1441934521ff85951d4e92015bd7e4e7c11f9'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'0c467f1cc9f91bf2bc4d9343dac1441934521ff85951d4e92015bd7e4e7c11f9');
END;
GO
