SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c6c85a3af1585be6185b7cec86e04e78dcfa467be7be5ecc0182c454972e848c'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'c6c85a3af1585be6185b7cec86e04e78dcfa467be7be5ecc0182c454972e848c');
END;
GO
