SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0929c70db21e598def7f32c318319c9ac0a54aa321636b4ce16147bcd4d60a7c'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'0929c70db21e598def7f32c318319c9ac0a54aa321636b4ce16147bcd4d60a7c');
END;
GO
