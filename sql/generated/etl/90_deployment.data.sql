SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'539cc3cc24202d1661208b1d274833b8aa6a2702e3b437c4b0eae89f65703c66'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'539cc3cc24202d1661208b1d274833b8aa6a2702e3b437c4b0eae89f65703c66');
END;
GO
