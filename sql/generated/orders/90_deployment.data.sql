SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b0605b9594dc9870f1b8b999979dfb62db5d50615f9e553bd5ca0e42f05ceb21'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'b0605b9594dc9870f1b8b999979dfb62db5d50615f9e553bd5ca0e42f05ceb21');
END;
GO
