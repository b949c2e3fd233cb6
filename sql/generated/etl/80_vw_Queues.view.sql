SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [etl].[vw_Queues]
AS
/* Redial 0.1.0, configuration etl */
/* The two queues of this configuration, without reading them; columns: see ufn_Queues. */
SELECT
    f.Side, f.QueueName, f.Messages, f.IsReceiveEnabled, f.IsEnqueueEnabled, f.IsActivationEnabled,
    f.ActivationProcedure, f.MaxReaders, f.IsRetentionEnabled, f.IsPoisonMessageHandlingEnabled
FROM [etl].[ufn_Queues]() AS f;
GO
