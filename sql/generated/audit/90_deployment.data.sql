SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'54b2caa05ee82e3ac8edf37107cd2aa88afbb94894c440500b21489bcd9b04e8'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'54b2caa05ee82e3ac8edf37107cd2aa88afbb94894c440500b21489bcd9b04e8');
END;
GO
