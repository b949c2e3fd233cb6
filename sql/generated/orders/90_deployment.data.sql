SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0ae10384dce9ed1ea5140551e3831fad1c5c1321d0a98a378affc8b71058a60c'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'0ae10384dce9ed1ea5140551e3831fad1c5c1321d0a98a378affc8b71058a60c');
END;
GO
