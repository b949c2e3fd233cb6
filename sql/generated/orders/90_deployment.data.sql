SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'3ac5fab2d078173a54e36d6f855cca58903d7a21438476ee3432ba3f46663b09'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'3ac5fab2d078173a54e36d6f855cca58903d7a21438476ee3432ba3f46663b09');
END;
GO
