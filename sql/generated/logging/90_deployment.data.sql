SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'fe6a80a2ebc53f0c6fcf014b35d7be73fbf889487bd607a42621aad67f58b366'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'fe6a80a2ebc53f0c6fcf014b35d7be73fbf889487bd607a42621aad67f58b366');
END;
GO
