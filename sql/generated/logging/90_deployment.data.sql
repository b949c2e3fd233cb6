SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'becd7cef427213eddb545866a3a43b2a33a16cc0b8b96386fba346c5af1d4066'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'becd7cef427213eddb545866a3a43b2a33a16cc0b8b96386fba346c5af1d4066');
END;
GO
