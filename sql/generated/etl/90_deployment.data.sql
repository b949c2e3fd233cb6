SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'ab43edccee71506e6af5a9b7e62f4aa79a2d4e1c9b1ad0ae704bfc8e95be2795'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'ab43edccee71506e6af5a9b7e62f4aa79a2d4e1c9b1ad0ae704bfc8e95be2795');
END;
GO
