SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'a19f9f7b8f796cef0645cfff66b6bb0c312aad0ab7ffbc8ad37c36e2dde9059f'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'a19f9f7b8f796cef0645cfff66b6bb0c312aad0ab7ffbc8ad37c36e2dde9059f');
END;
GO
