SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'5ea5ccba2fa3126d43516725403b0188f5539f3af3122f9baa75eb9e64d27313'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'5ea5ccba2fa3126d43516725403b0188f5539f3af3122f9baa75eb9e64d27313');
END;
GO
