SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'45c2564afaf04db8db857bd8604c06c98d8a5fac48c75cf56e8d481fc8fd3bd1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'45c2564afaf04db8db857bd8604c06c98d8a5fac48c75cf56e8d481fc8fd3bd1');
END;
GO
