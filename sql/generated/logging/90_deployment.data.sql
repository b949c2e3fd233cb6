SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ae3cc75bc1c657b5e704111649ea119ec099fe2f2c023cf1ae3574db64bdee43'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'ae3cc75bc1c657b5e704111649ea119ec099fe2f2c023cf1ae3574db64bdee43');
END;
GO
