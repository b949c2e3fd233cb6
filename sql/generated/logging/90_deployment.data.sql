SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'011bc45e6c6cd0ec742fe0956b2192da2999a6abc9eafcd44ba7beb1333ebcf4'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'011bc45e6c6cd0ec742fe0956b2192da2999a6abc9eafcd44ba7beb1333ebcf4');
END;
GO
