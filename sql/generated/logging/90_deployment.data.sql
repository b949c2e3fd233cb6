SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c7d994ef76f8028ec890a58d3251815858245e115eaa55df15dd6dcf552e1f06'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'c7d994ef76f8028ec890a58d3251815858245e115eaa55df15dd6dcf552e1f06');
END;
GO
