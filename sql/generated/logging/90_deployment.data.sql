SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'eb24a62ff3def233c934fd655280bea753f7bd8147c2cbdd485fb0091d8d8a59'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'eb24a62ff3def233c934fd655280bea753f7bd8147c2cbdd485fb0091d8d8a59');
END;
GO
