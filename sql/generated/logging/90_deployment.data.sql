SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'24af2618c7e65a965cffac52f500e986ddb0b2224c806b20708eb56d4c5573ea'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'24af2618c7e65a965cffac52f500e986ddb0b2224c806b20708eb56d4c5573ea');
END;
GO
