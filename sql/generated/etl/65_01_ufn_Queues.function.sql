SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Queues]()
RETURNS @queues TABLE
(
    Side nvarchar(10) NOT NULL,             /* initiator or target */
    QueueName nvarchar(128) NOT NULL,
    Messages bigint NULL,                   /* about; retained ones and those not yet committed too */
    IsReceiveEnabled bit NOT NULL,
    IsEnqueueEnabled bit NOT NULL,
    IsActivationEnabled bit NOT NULL,
    ActivationProcedure nvarchar(776) NULL,
    MaxReaders smallint NULL,
    IsRetentionEnabled bit NOT NULL,
    IsPoisonMessageHandlingEnabled bit NULL
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Behind vw_Queues; a function for the reason given in ufn_Conversations.
   Messages is what sys.partitions says of the queue's internal table, never counted: COUNT(*) over a
   long queue scans it and stops its readers (F-170). The state of a queue monitor is the server's
   business and not visible from here: usp_Health shows it to a caller with VIEW SERVER STATE. */
BEGIN
    DECLARE @initiator int = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ');
    DECLARE @target int = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ');
    DECLARE @lengths TABLE (QueueId int NOT NULL PRIMARY KEY, Messages bigint NULL);

    INSERT INTO @lengths (QueueId, Messages)
    SELECT it.parent_object_id, SUM(p.rows)
    FROM sys.internal_tables AS it
    INNER JOIN sys.partitions AS p ON p.object_id = it.object_id AND p.index_id = 1
    WHERE it.parent_object_id IN (@initiator, @target)
    GROUP BY it.parent_object_id;

    INSERT INTO @queues
        (Side, QueueName, Messages, IsReceiveEnabled, IsEnqueueEnabled, IsActivationEnabled, ActivationProcedure,
         MaxReaders, IsRetentionEnabled, IsPoisonMessageHandlingEnabled)
    SELECT
        CASE WHEN q.object_id = @target THEN N'target' ELSE N'initiator' END,
        q.name, le.Messages, q.is_receive_enabled, q.is_enqueue_enabled, q.is_activation_enabled,
        q.activation_procedure, q.max_readers, q.is_retention_enabled, q.is_poison_message_handling_enabled
    FROM sys.service_queues AS q
    LEFT OUTER JOIN @lengths AS le ON le.QueueId = q.object_id
    WHERE q.object_id IN (@initiator, @target);

    RETURN;
END;
GO
