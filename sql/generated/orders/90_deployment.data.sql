SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'22e79b13a4a8e03f7bc031d37f666f0c2960e51b41bd7647497e392103035a6d'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'22e79b13a4a8e03f7bc031d37f666f0c2960e51b41bd7647497e392103035a6d');
END;
GO
