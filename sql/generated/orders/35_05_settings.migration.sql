SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 5: an installation from before Setting had one choice of everything; written down, so that
   a change can be told from a first deployment. One transaction, and looked up before it runs. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [orders].[Migration] AS m WHERE m.Number = 5)
BEGIN
    BEGIN TRANSACTION;
    IF ISNULL((SELECT TOP (1) h.Version FROM [orders].[DeploymentHistory] AS h
               ORDER BY h.DeploymentId DESC), N'uninstalled') <> N'uninstalled'
       AND NOT EXISTS (SELECT 1 FROM [orders].[Setting])
        INSERT INTO [orders].[Setting] (Name, Value)
        VALUES
            (N'conversation.key', N'spid'),
            (N'conversation.recycle', N'timer'),
            (N'conversation.order', N'conversation'),
            (N'conversation.delivery', N'at_least_once'),
            (N'envelope.who', N'0');
    INSERT INTO [orders].[Migration] (Number, Name)
    VALUES (5, N'settings');
    COMMIT TRANSACTION;
END;
GO
