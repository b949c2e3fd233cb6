SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'97652b6740699b6a939537d00fe2d02d37bf80587bbed2f823fb05299b5bec5b'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'97652b6740699b6a939537d00fe2d02d37bf80587bbed2f823fb05299b5bec5b');
END;
GO
