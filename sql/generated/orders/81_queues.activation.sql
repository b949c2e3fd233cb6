SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[orders].[ConversationLog]'), (N'[orders].[DeadLetter]'), (N'[orders].[DeploymentAttempt]'),
               (N'[orders].[DeploymentHistory]'), (N'[orders].[DeploymentText]'), (N'[orders].[ErrorLog]'),
               (N'[orders].[Gate]'), (N'[orders].[IdleWatch]'), (N'[orders].[KeySequence]'), (N'[orders].[Landing]'),
               (N'[orders].[LandingAcknowledged]'), (N'[orders].[MessageBatch]'), (N'[orders].[Migration]'),
               (N'[orders].[OperatorLog]'), (N'[orders].[Outbox]'), (N'[orders].[OwnedObject]'),
               (N'[orders].[PoisonAttempt]'), (N'[orders].[ReceivedBatch]'), (N'[orders].[SentMessage]'),
               (N'[orders].[SessionConversations]'), (N'[orders].[Setting]'), (N'[orders].[SkippedNumber]'),
               (N'[orders].[ufn_Conversations]'), (N'[orders].[ufn_HealthBroker]'),
               (N'[orders].[ufn_HealthConversations]'), (N'[orders].[ufn_HealthData]'),
               (N'[orders].[ufn_HealthPending]'), (N'[orders].[ufn_HealthQueues]'), (N'[orders].[ufn_Leaked]'),
               (N'[orders].[ufn_Pending]'), (N'[orders].[ufn_QueuePages]'), (N'[orders].[ufn_Queues]'),
               (N'[orders].[ufn_ReadBatch]'), (N'[orders].[ufn_ReadEnvelope]'), (N'[orders].[usp_AcknowledgeLanding]'),
               (N'[orders].[usp_AcquireConversation]'), (N'[orders].[usp_ArmTimer]'),
               (N'[orders].[usp_BeginConversation]'), (N'[orders].[usp_CheckHealth]'),
               (N'[orders].[usp_CheckMessages]'), (N'[orders].[usp_CloseDialogs]'), (N'[orders].[usp_CloseGate]'),
               (N'[orders].[usp_Drain]'), (N'[orders].[usp_DropCopies]'), (N'[orders].[usp_EndInitiator]'),
               (N'[orders].[usp_EndLeaked]'), (N'[orders].[usp_EndLeakedOne]'), (N'[orders].[usp_EndTarget]'),
               (N'[orders].[usp_FindPoison]'), (N'[orders].[usp_Health]'), (N'[orders].[usp_InTheWay]'),
               (N'[orders].[usp_LandBatch]'), (N'[orders].[usp_LandRow]'), (N'[orders].[usp_LogError]'),
               (N'[orders].[usp_Mark]'), (N'[orders].[usp_MoveCopies]'), (N'[orders].[usp_OpenGate]'),
               (N'[orders].[usp_PickConversation]'), (N'[orders].[usp_PurgeDeadLetter]'),
               (N'[orders].[usp_PurgeLanding]'), (N'[orders].[usp_PurgeLogs]'), (N'[orders].[usp_PurgePoison]'),
               (N'[orders].[usp_ReadErrorBody]'), (N'[orders].[usp_RecordPoison]'),
               (N'[orders].[usp_RecycleConversation]'), (N'[orders].[usp_RehearseLanding]'),
               (N'[orders].[usp_ReopenGate]'), (N'[orders].[usp_ReorganizeQueue]'),
               (N'[orders].[usp_ReplayDeadLetter]'), (N'[orders].[usp_Resend]'), (N'[orders].[usp_ResendLeft]'),
               (N'[orders].[usp_ResendPending]'), (N'[orders].[usp_ResendStranded]'), (N'[orders].[usp_RetireIdle]'),
               (N'[orders].[usp_Send]'), (N'[orders].[usp_SendBatch]'), (N'[orders].[usp_SendEndOfStream]'),
               (N'[orders].[usp_SenderActivation]'), (N'[orders].[usp_SendMessages]'),
               (N'[orders].[usp_SendPrivately]'), (N'[orders].[usp_StartQueue]'), (N'[orders].[usp_TakeTurn]'),
               (N'[orders].[usp_TargetActivation]'), (N'[orders].[usp_WaitForEnds]'), (N'[orders].[usp_WaitForServer]'),
               (N'[orders].[vw_Conversations]'), (N'[orders].[vw_DeadLetters]'), (N'[orders].[vw_Errors]'),
               (N'[orders].[vw_FailedConversations]'), (N'[orders].[vw_Pending]'), (N'[orders].[vw_Queues]'),
               (N'[orders].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [orders] was activated: an earlier script failed and something its reader needs is missing. Next: run redial.sql again.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [orders].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [orders].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[orders].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    ALTER QUEUE [orders].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [orders].[usp_SenderActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'orders_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[orders].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [orders].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [orders].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[orders].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[orders].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    ALTER QUEUE [orders].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [orders].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'orders_module'
    );
END;
GO
