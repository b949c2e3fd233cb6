SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b15cbb4086ec4d804ffb234ce6480f5f9d8417266b65efeb5fe5f61271baa4b4'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'b15cbb4086ec4d804ffb234ce6480f5f9d8417266b65efeb5fe5f61271baa4b4');
END;
GO
