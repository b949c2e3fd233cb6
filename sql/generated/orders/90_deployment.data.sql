SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'aac5a297c1c3516ece293ee0212ba5abe551615a11e1360e26b680bb9d54c4f7'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'aac5a297c1c3516ece293ee0212ba5abe551615a11e1360e26b680bb9d54c4f7');
END;
GO
