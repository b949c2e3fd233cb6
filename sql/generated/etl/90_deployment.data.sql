SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6ed3e0eea5060c0e923c91388e2321ebfbd326853cb1ca9ef84d603b6102269e'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'6ed3e0eea5060c0e923c91388e2321ebfbd326853cb1ca9ef84d603b6102269e');
END;
GO
