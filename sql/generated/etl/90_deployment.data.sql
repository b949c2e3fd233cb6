SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9ef88fcd85c79c9fb7004ae41a9803e41c09141906fba83ef57cf8d8819c9170'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'9ef88fcd85c79c9fb7004ae41a9803e41c09141906fba83ef57cf8d8819c9170');
END;
GO
