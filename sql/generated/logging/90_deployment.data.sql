SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'16acd01e90359f3ed9d748f742393373f003cf48b182cca4eba281546093b15e'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'16acd01e90359f3ed9d748f742393373f003cf48b182cca4eba281546093b15e');
END;
GO
