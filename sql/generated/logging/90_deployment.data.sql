SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'08037fd2d44d8bb2ea02c03ddaa0544cb83b9bfcea485927d33fceff1d5a61aa'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'08037fd2d44d8bb2ea02c03ddaa0544cb83b9bfcea485927d33fceff1d5a61aa');
END;
GO
