SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b4076791823ddd8a974b9abacb007f23d108be0d5bc01ade83829c11b3f708f8'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'b4076791823ddd8a974b9abacb007f23d108be0d5bc01ade83829c11b3f708f8');
END;
GO
