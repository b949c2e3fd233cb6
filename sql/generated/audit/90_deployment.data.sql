SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1b5d25990cb642e6e6d0cc128f5d1fbff02c14a258f5113a64d3da416a4d71a6'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'1b5d25990cb642e6e6d0cc128f5d1fbff02c14a258f5113a64d3da416a4d71a6');
END;
GO
