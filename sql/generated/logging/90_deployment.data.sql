SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8afb9dce7d19fe9bfe40994e46ccef2863d61db1442ac0f0fc9e5751b7df7db7'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'8afb9dce7d19fe9bfe40994e46ccef2863d61db1442ac0f0fc9e5751b7df7db7');
END;
GO
