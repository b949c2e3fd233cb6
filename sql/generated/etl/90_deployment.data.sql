SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b9a7634510fb896f128071abb9849ee6f8bf5100c5c439aaa88c323bf629eafd'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'b9a7634510fb896f128071abb9849ee6f8bf5100c5c439aaa88c323bf629eafd');
END;
GO
