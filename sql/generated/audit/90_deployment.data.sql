SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'59ff5fb5bf3832d80e461cd484f6872c6e503cd782c129a0c994a0180fa22075'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'59ff5fb5bf3832d80e461cd484f6872c6e503cd782c129a0c994a0180fa22075');
END;
GO
