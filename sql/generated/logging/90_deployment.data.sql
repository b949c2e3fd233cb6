SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4201933a9226d7cedea25904b0c2434bf4cd2b82ae2ba7e960ad3448448c02a5'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'4201933a9226d7cedea25904b0c2434bf4cd2b82ae2ba7e960ad3448448c02a5');
END;
GO
