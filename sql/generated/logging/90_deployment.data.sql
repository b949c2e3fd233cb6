SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'9ffb62ee168a4785f0f92979c71e0335fbbfbe1149eef91bbf568b6ec93f6a38'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'9ffb62ee168a4785f0f92979c71e0335fbbfbe1149eef91bbf568b6ec93f6a38');
END;
GO
