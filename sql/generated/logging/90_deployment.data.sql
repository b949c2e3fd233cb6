SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8e6ca4ee5ab204e5302bc0f6865a5808126bd648615800b7f692ec8b4aa898cb'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'8e6ca4ee5ab204e5302bc0f6865a5808126bd648615800b7f692ec8b4aa898cb');
END;
GO
