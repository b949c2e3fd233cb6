SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e12ab8f3fac7d3469b5119b9eb11c92cff32a02cf4aee021614ecdb341a294ae'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'e12ab8f3fac7d3469b5119b9eb11c92cff32a02cf4aee021614ecdb341a294ae');
END;
GO
