SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'337e8cb1154e8cc2c906fdc72512e0d71e41344825c6027f52fa0590aee87a67'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'337e8cb1154e8cc2c906fdc72512e0d71e41344825c6027f52fa0590aee87a67');
END;
GO
