SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6c3280b8d8525c1eb4ab01ab061a33f08a88e59237b6d1a21f55facb031b242b'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'6c3280b8d8525c1eb4ab01ab061a33f08a88e59237b6d1a21f55facb031b242b');
END;
GO
