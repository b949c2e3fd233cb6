SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1e029e25df22413c7d2dd1d9341e545c32d055a7f49606aa317d366c9f493f72'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1e029e25df22413c7d2dd1d9341e545c32d055a7f49606aa317d366c9f493f72');
END;
GO
