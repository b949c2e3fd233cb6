SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'0350108bf0cbde56bdad0f4b4435fbcd39df40a05a113523cb9a66ae6d6e6ec7'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'0350108bf0cbde56bdad0f4b4435fbcd39df40a05a113523cb9a66ae6d6e6ec7');
END;
GO
