SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b58983a3c3c5ce1ade6cfb701b1cbec2ddb6acd5f273ea05b44b632ae6b66c37'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'b58983a3c3c5ce1ade6cfb701b1cbec2ddb6acd5f273ea05b44b632ae6b66c37');
END;
GO
