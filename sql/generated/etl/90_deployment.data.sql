SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'65d71b71d0b4064f34ec0f5be2f352c68a7181f9fcceb371b8851c5cc4bf9fb1'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'65d71b71d0b4064f34ec0f5be2f352c68a7181f9fcceb371b8851c5cc4bf9fb1');
END;
GO
