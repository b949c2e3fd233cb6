SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'48fffbfc1108d2477b5db9ad2dd7105614560236db68364876b5b4c9d75dd8dc'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'48fffbfc1108d2477b5db9ad2dd7105614560236db68364876b5b4c9d75dd8dc');
END;
GO
