SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3eac12785acae3e4ddccff229a98ad086fe4cc0d66feb0e9e7e4c38745c8efd2'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'3eac12785acae3e4ddccff229a98ad086fe4cc0d66feb0e9e7e4c38745c8efd2');
END;
GO
