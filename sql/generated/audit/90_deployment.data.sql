SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b921afeb2a7fc33dbd54c7a07e657bb4fa6326df73cae86ba10b04139451eef1'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'b921afeb2a7fc33dbd54c7a07e657bb4fa6326df73cae86ba10b04139451eef1');
END;
GO
