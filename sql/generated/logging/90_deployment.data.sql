SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e1218ca5dfac4c62634f390d953a355ec4d940fd9bafe963b5f54ce399b46c10'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'e1218ca5dfac4c62634f390d953a355ec4d940fd9bafe963b5f54ce399b46c10');
END;
GO
