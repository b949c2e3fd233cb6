SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b89a52b27263ca47f9e87e7d5c433ecbc1ac7d44d8d3753840efe04211279e4b'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'b89a52b27263ca47f9e87e7d5c433ecbc1ac7d44d8d3753840efe04211279e4b');
END;
GO
