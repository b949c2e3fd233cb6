SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'c67f852f45cc7fedc457e6dda59adb8909f47799e09fb1ab61e92b436963c1ef'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'c67f852f45cc7fedc457e6dda59adb8909f47799e09fb1ab61e92b436963c1ef');
END;
GO
