SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ddc65971a69d5ae1d11301647dad09ddf96f5adadea5e2d85c36a71c9ad73e57'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'ddc65971a69d5ae1d11301647dad09ddf96f5adadea5e2d85c36a71c9ad73e57');
END;
GO
