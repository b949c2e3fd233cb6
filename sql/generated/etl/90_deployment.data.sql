SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'42f17cdf54de8eb16fe252215fea98815a2271f2e56102c675e9c83bd289b9e6'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'42f17cdf54de8eb16fe252215fea98815a2271f2e56102c675e9c83bd289b9e6');
END;
GO
