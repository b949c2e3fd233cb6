SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'f6fcf56d656898b3569b614d92c284823c2290996e05cae69cea9f77c7e43dd6'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'f6fcf56d656898b3569b614d92c284823c2290996e05cae69cea9f77c7e43dd6');
END;
GO
