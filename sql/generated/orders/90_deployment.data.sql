SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'453d05fa8e0ab554d383dcdfd5a622274d4b29c7c5198b55268eda845eb91b74'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'453d05fa8e0ab554d383dcdfd5a622274d4b29c7c5198b55268eda845eb91b74');
END;
GO
