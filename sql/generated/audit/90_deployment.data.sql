SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'112875fdf9fc9371a52159ac6821780cf8e1c7c1091f6065ebc3a7d98f6fee10'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'112875fdf9fc9371a52159ac6821780cf8e1c7c1091f6065ebc3a7d98f6fee10');
END;
GO
