SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'208875b08efc74424871d81a70b90afedd06482fe805357543098e5588b9bd87'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'208875b08efc74424871d81a70b90afedd06482fe805357543098e5588b9bd87');
END;
GO
