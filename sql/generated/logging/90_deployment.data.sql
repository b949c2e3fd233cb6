SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'46973dab6a8fb2ce689ce905021d7237cfa61d73b13d56dbd207866e0c59ed4d'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'46973dab6a8fb2ce689ce905021d7237cfa61d73b13d56dbd207866e0c59ed4d');
END;
GO
