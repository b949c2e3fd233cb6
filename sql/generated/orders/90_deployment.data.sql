SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cc9adf9be50b95519d1d0ccbc82491da54ba80c456676e1e77ed9f9e8e672a43'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'cc9adf9be50b95519d1d0ccbc82491da54ba80c456676e1e77ed9f9e8e672a43');
END;
GO
