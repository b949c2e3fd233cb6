SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6a41bb5af94ae65ec3222a84a5d82fe43149e87fcc717e68d6e0d4f56f7c76c6'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'6a41bb5af94ae65ec3222a84a5d82fe43149e87fcc717e68d6e0d4f56f7c76c6');
END;
GO
