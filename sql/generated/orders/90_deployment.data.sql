SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cae47403a1234edc93179a1caea3de3ba693b61b8676a94d46b574ea1da43ed7'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'cae47403a1234edc93179a1caea3de3ba693b61b8676a94d46b574ea1da43ed7');
END;
GO
