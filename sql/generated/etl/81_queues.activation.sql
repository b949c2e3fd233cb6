SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[etl].[ConversationLog]'), (N'[etl].[DeadLetter]'), (N'[etl].[DeploymentAttempt]'),
               (N'[etl].[DeploymentHistory]'), (N'[etl].[DeploymentText]'), (N'[etl].[ErrorLog]'), (N'[etl].[Gate]'),
               (N'[etl].[IdleWatch]'), (N'[etl].[Inbox]'), (N'[etl].[Landing]'), (N'[etl].[LandingAcknowledged]'),
               (N'[etl].[MessageBatch]'), (N'[etl].[Migration]'), (N'[etl].[OperatorLog]'), (N'[etl].[Outbox]'),
               (N'[etl].[OwnedObject]'), (N'[etl].[PoisonAttempt]'), (N'[etl].[ReceivedBatch]'),
               (N'[etl].[SendLedger]'), (N'[etl].[SentMessage]'), (N'[etl].[SessionConversations]'),
               (N'[etl].[Setting]'), (N'[etl].[ufn_Conversations]'), (N'[etl].[ufn_HealthBroker]'),
               (N'[etl].[ufn_HealthConversations]'), (N'[etl].[ufn_HealthData]'), (N'[etl].[ufn_HealthPending]'),
               (N'[etl].[ufn_HealthQueues]'), (N'[etl].[ufn_Leaked]'), (N'[etl].[ufn_Pending]'),
               (N'[etl].[ufn_QueuePages]'), (N'[etl].[ufn_Queues]'), (N'[etl].[ufn_ReadBatch]'),
               (N'[etl].[ufn_ReadEnvelope]'), (N'[etl].[usp_AcknowledgeLanding]'), (N'[etl].[usp_AcquireConversation]'),
               (N'[etl].[usp_ArmTimer]'), (N'[etl].[usp_BeginConversation]'), (N'[etl].[usp_BeginPartition]'),
               (N'[etl].[usp_CheckHealth]'), (N'[etl].[usp_CheckMessages]'), (N'[etl].[usp_CloseDialogs]'),
               (N'[etl].[usp_CloseGate]'), (N'[etl].[usp_Drain]'), (N'[etl].[usp_DropCopies]'),
               (N'[etl].[usp_EndInitiator]'), (N'[etl].[usp_EndLeaked]'), (N'[etl].[usp_EndLeakedOne]'),
               (N'[etl].[usp_EndPartition]'), (N'[etl].[usp_EndTarget]'), (N'[etl].[usp_FindPoison]'),
               (N'[etl].[usp_Health]'), (N'[etl].[usp_InTheWay]'), (N'[etl].[usp_LandBatch]'), (N'[etl].[usp_LandRow]'),
               (N'[etl].[usp_LogError]'), (N'[etl].[usp_Mark]'), (N'[etl].[usp_MoveCopies]'), (N'[etl].[usp_OpenGate]'),
               (N'[etl].[usp_PickConversation]'), (N'[etl].[usp_PurgeDeadLetter]'), (N'[etl].[usp_PurgeInbox]'),
               (N'[etl].[usp_PurgeLanding]'), (N'[etl].[usp_PurgeLogs]'), (N'[etl].[usp_PurgePoison]'),
               (N'[etl].[usp_PurgeSendLedger]'), (N'[etl].[usp_ReadErrorBody]'), (N'[etl].[usp_RecordPoison]'),
               (N'[etl].[usp_RecycleConversation]'), (N'[etl].[usp_RehearseLanding]'), (N'[etl].[usp_ReopenGate]'),
               (N'[etl].[usp_ReorganizeQueue]'), (N'[etl].[usp_ReplayDeadLetter]'), (N'[etl].[usp_Resend]'),
               (N'[etl].[usp_ResendLeft]'), (N'[etl].[usp_ResendPending]'), (N'[etl].[usp_ResendStranded]'),
               (N'[etl].[usp_RetireIdle]'), (N'[etl].[usp_Send]'), (N'[etl].[usp_SendBatch]'),
               (N'[etl].[usp_SendEndOfStream]'), (N'[etl].[usp_SenderActivation]'), (N'[etl].[usp_SendMessages]'),
               (N'[etl].[usp_SendPrivately]'), (N'[etl].[usp_StartQueue]'), (N'[etl].[usp_TakeTurn]'),
               (N'[etl].[usp_TargetActivation]'), (N'[etl].[usp_WaitForEnds]'), (N'[etl].[usp_WaitForServer]'),
               (N'[etl].[usp_WaitForSlot]'), (N'[etl].[vw_Conversations]'), (N'[etl].[vw_DeadLetters]'),
               (N'[etl].[vw_Errors]'), (N'[etl].[vw_FailedConversations]'), (N'[etl].[vw_Pending]'),
               (N'[etl].[vw_Queues]'), (N'[etl].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [etl] was activated: an earlier script failed and something its reader needs is missing. Next: run redial.sql again.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [etl].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [etl].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 2
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[etl].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
BEGIN
    ALTER QUEUE [etl].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [etl].[usp_SenderActivation],
        MAX_QUEUE_READERS = 2,
        EXECUTE AS N'etl_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [etl].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [etl].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[etl].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
BEGIN
    ALTER QUEUE [etl].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [etl].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'etl_module'
    );
END;
GO
