SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'60ab3ffa8c827207fa616401fc98abed8e3a50cc85ffc7ac491ef18c6e54a99c'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'60ab3ffa8c827207fa616401fc98abed8e3a50cc85ffc7ac491ef18c6e54a99c');
END;
GO
