SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a596044b1aa25093635c63c4e6bf1b19fb431631fc3d46ff3ae6ac64f11578cf'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'a596044b1aa25093635c63c4e6bf1b19fb431631fc3d46ff3ae6ac64f11578cf');
END;
GO
