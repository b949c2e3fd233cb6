SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'acbf80053aa4fb9c8740d7719e377d682f365378130644ba5f7f2c99d9d9ab96'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'acbf80053aa4fb9c8740d7719e377d682f365378130644ba5f7f2c99d9d9ab96');
END;
GO
