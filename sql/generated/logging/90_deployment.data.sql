SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fcbaa26fc8f1f6a335bdb21f75075b25ed35f6c5d44843a8dea799d0a3780bdd'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'fcbaa26fc8f1f6a335bdb21f75075b25ed35f6c5d44843a8dea799d0a3780bdd');
END;
GO
