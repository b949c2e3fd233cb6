SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cdb14c33416f6822fc24cec175e39b7d3577cfe703ef3eddf681a3a44c27727b'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'cdb14c33416f6822fc24cec175e39b7d3577cfe703ef3eddf681a3a44c27727b');
END;
GO
