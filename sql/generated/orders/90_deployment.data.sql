SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3ae7a84aaec72637e05d1ca40003d4358a2479b196fedfaec241efc410597e6b'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'3ae7a84aaec72637e05d1ca40003d4358a2479b196fedfaec241efc410597e6b');
END;
GO
