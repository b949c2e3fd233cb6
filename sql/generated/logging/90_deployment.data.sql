SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'def8fffd4bb3b5fd686a031d9298bd7b32c6103a283b9ed2a8bb812b5b80d2ca'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'def8fffd4bb3b5fd686a031d9298bd7b32c6103a283b9ed2a8bb812b5b80d2ca');
END;
GO
