SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'6462e6435949d4bdf849d77c889ffeaf2652f938bd88440206d80bb5a2c4e862'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'6462e6435949d4bdf849d77c889ffeaf2652f938bd88440206d80bb5a2c4e862');
END;
GO
