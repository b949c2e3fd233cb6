SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b20d75d2384d058bbdfa1ea6864cd40a61f297b968d523ddb9ca1a7045925b29'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'b20d75d2384d058bbdfa1ea6864cd40a61f297b968d523ddb9ca1a7045925b29');
END;
GO
