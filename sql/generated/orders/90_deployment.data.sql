SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1c054af95a22b989ab1fe9e24d1163877587d13f7ab6fb13f38706074d1dd075'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'1c054af95a22b989ab1fe9e24d1163877587d13f7ab6fb13f38706074d1dd075');
END;
GO
