SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1e29a658290aab244c6e3cc062cafb62c6d887026ff6530f3dd41a8c68c77059'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1e29a658290aab244c6e3cc062cafb62c6d887026ff6530f3dd41a8c68c77059');
END;
GO
