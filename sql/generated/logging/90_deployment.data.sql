SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2bf34a57a0e29a0576b9216a450b4756537654adcf4aa1d0e02931c05f7b4783'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'2bf34a57a0e29a0576b9216a450b4756537654adcf4aa1d0e02931c05f7b4783');
END;
GO
