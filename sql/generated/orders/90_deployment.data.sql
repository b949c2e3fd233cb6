SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e9a254a771b7eafd4e7e4cf7584fb9f74266c262b20fb3039d0115796f9a283d'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'e9a254a771b7eafd4e7e4cf7584fb9f74266c262b20fb3039d0115796f9a283d');
END;
GO
