SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'8fce6a880bdbcd10a543b9646cebf35f3eedbedd690994466ce72de27a14501a'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'8fce6a880bdbcd10a543b9646cebf35f3eedbedd690994466ce72de27a14501a');
END;
GO
