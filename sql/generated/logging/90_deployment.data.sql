SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a860e93464fc0b9f6e6770d33d86a316cad131ea6b2b226aaffb71dc4e96e6f1'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'a860e93464fc0b9f6e6770d33d86a316cad131ea6b2b226aaffb71dc4e96e6f1');
END;
GO
