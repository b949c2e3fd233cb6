SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'2c4adf2fb539e46231b9664235dc37b6678ce46baff9041fe62e5c7cdfc33b1f'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'2c4adf2fb539e46231b9664235dc37b6678ce46baff9041fe62e5c7cdfc33b1f');
END;
GO
