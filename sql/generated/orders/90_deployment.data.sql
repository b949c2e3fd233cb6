SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8ece56455404ac1034e529b0b22f1fb1216bb478666d6e6efdd8dd4b5ab4c0f1'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'8ece56455404ac1034e529b0b22f1fb1216bb478666d6e6efdd8dd4b5ab4c0f1');
END;
GO
