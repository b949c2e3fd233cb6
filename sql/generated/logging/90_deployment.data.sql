SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'1b4758cf0deb029cd737d8f61d63067edca8e03bffb86a6dcafc1948a4a672c5'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'1b4758cf0deb029cd737d8f61d63067edca8e03bffb86a6dcafc1948a4a672c5');
END;
GO
