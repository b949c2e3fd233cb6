SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'aa5b2dfaa8974a6d67ff85a2b129cb0da0499bca1232396dcc721afe525d002e'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'aa5b2dfaa8974a6d67ff85a2b129cb0da0499bca1232396dcc721afe525d002e');
END;
GO
