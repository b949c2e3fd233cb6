SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'622a84918c5eb9e6939ba376be25d927d4d7297d026ad8b214b7a53564280e1e'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'622a84918c5eb9e6939ba376be25d927d4d7297d026ad8b214b7a53564280e1e');
END;
GO
