SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'73ffaa8d3f6753e45208bcd0aab44731c3f28ab1ee3951ea91a31c50a72e9202'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'73ffaa8d3f6753e45208bcd0aab44731c3f28ab1ee3951ea91a31c50a72e9202');
END;
GO
