SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'61c5cb0facf9f4b5fd47302c900b807377ad468e99efc1cc883d7f9a44b85d3d'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'61c5cb0facf9f4b5fd47302c900b807377ad468e99efc1cc883d7f9a44b85d3d');
END;
GO
