SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b0a3f79396ec2f421f0ba12817d7e1799a5f41f4462569588d7b2995bbf45c50'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'b0a3f79396ec2f421f0ba12817d7e1799a5f41f4462569588d7b2995bbf45c50');
END;
GO
