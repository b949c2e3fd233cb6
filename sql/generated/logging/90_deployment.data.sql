SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'66f13176d36c424de5ac1606684a5a22ce2c28b9ef5c175b372d0ba6953737b9'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'66f13176d36c424de5ac1606684a5a22ce2c28b9ef5c175b372d0ba6953737b9');
END;
GO
