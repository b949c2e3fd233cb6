SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c63a99962dc811912dcd7f5068f4ab22df70d9c20238506c3b2127ccb8dd51fa'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'c63a99962dc811912dcd7f5068f4ab22df70d9c20238506c3b2127ccb8dd51fa');
END;
GO
