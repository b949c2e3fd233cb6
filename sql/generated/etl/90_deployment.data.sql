SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'4e586d9ddd317dec4fcd5b971744de290dbfc98794a26086add82a0c5dfbec7e'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'4e586d9ddd317dec4fcd5b971744de290dbfc98794a26086add82a0c5dfbec7e');
END;
GO
