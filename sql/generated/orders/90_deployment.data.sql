SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'7405dda485862e758666a216ab205c571ce0cb6bb20c1bb8db936c97089406a1'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'7405dda485862e758666a216ab205c571ce0cb6bb20c1bb8db936c97089406a1');
END;
GO
