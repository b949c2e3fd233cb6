SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a212115b5f530c5f2bbed10381ab4166fb710986f528d1ecbab8d7ed02690c97'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'a212115b5f530c5f2bbed10381ab4166fb710986f528d1ecbab8d7ed02690c97');
END;
GO
