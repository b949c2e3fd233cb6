SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8afd6d3440ac8fae5c3ad2daed2107794d2a48011abadde654d8a7add32ccfac'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'8afd6d3440ac8fae5c3ad2daed2107794d2a48011abadde654d8a7add32ccfac');
END;
GO
