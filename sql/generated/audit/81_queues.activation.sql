SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[audit].[ConversationLog]'), (N'[audit].[DeadLetter]'), (N'[audit].[DeploymentAttempt]'),
               (N'[audit].[DeploymentHistory]'), (N'[audit].[DeploymentText]'), (N'[audit].[ErrorLog]'),
               (N'[audit].[Gate]'), (N'[audit].[IdleWatch]'), (N'[audit].[Landing]'),
               (N'[audit].[LandingAcknowledged]'), (N'[audit].[MessageBatch]'), (N'[audit].[Migration]'),
               (N'[audit].[OperatorLog]'), (N'[audit].[Outbox]'), (N'[audit].[OwnedObject]'),
               (N'[audit].[PoisonAttempt]'), (N'[audit].[ReceivedBatch]'), (N'[audit].[SentMessage]'),
               (N'[audit].[SessionConversations]'), (N'[audit].[Setting]'), (N'[audit].[ufn_Conversations]'),
               (N'[audit].[ufn_HealthBroker]'), (N'[audit].[ufn_HealthConversations]'), (N'[audit].[ufn_HealthData]'),
               (N'[audit].[ufn_HealthPending]'), (N'[audit].[ufn_HealthQueues]'), (N'[audit].[ufn_Leaked]'),
               (N'[audit].[ufn_Pending]'), (N'[audit].[ufn_QueuePages]'), (N'[audit].[ufn_Queues]'),
               (N'[audit].[ufn_ReadBatch]'), (N'[audit].[ufn_ReadEnvelope]'), (N'[audit].[usp_AcknowledgeLanding]'),
               (N'[audit].[usp_AcquireConversation]'), (N'[audit].[usp_ArmTimer]'),
               (N'[audit].[usp_BeginConversation]'), (N'[audit].[usp_CheckHealth]'), (N'[audit].[usp_CheckMessages]'),
               (N'[audit].[usp_CloseDialogs]'), (N'[audit].[usp_CloseGate]'), (N'[audit].[usp_Drain]'),
               (N'[audit].[usp_DropCopies]'), (N'[audit].[usp_EndInitiator]'), (N'[audit].[usp_EndLeaked]'),
               (N'[audit].[usp_EndLeakedOne]'), (N'[audit].[usp_EndTarget]'), (N'[audit].[usp_FindPoison]'),
               (N'[audit].[usp_Health]'), (N'[audit].[usp_InTheWay]'), (N'[audit].[usp_LandBatch]'),
               (N'[audit].[usp_LandRow]'), (N'[audit].[usp_LogError]'), (N'[audit].[usp_Mark]'),
               (N'[audit].[usp_MoveCopies]'), (N'[audit].[usp_OpenGate]'), (N'[audit].[usp_PickConversation]'),
               (N'[audit].[usp_PurgeDeadLetter]'), (N'[audit].[usp_PurgeLanding]'), (N'[audit].[usp_PurgeLogs]'),
               (N'[audit].[usp_PurgePoison]'), (N'[audit].[usp_ReadErrorBody]'), (N'[audit].[usp_RecordPoison]'),
               (N'[audit].[usp_RecycleConversation]'), (N'[audit].[usp_RehearseLanding]'),
               (N'[audit].[usp_ReopenGate]'), (N'[audit].[usp_ReorganizeQueue]'), (N'[audit].[usp_ReplayDeadLetter]'),
               (N'[audit].[usp_Resend]'), (N'[audit].[usp_ResendLeft]'), (N'[audit].[usp_ResendPending]'),
               (N'[audit].[usp_ResendStranded]'), (N'[audit].[usp_RetireIdle]'), (N'[audit].[usp_Send]'),
               (N'[audit].[usp_SendBatch]'), (N'[audit].[usp_SendEndOfStream]'), (N'[audit].[usp_SenderActivation]'),
               (N'[audit].[usp_SendMessages]'), (N'[audit].[usp_SendPrivately]'), (N'[audit].[usp_StartQueue]'),
               (N'[audit].[usp_TakeTurn]'), (N'[audit].[usp_TargetActivation]'), (N'[audit].[usp_WaitForEnds]'),
               (N'[audit].[usp_WaitForServer]'), (N'[audit].[vw_Conversations]'), (N'[audit].[vw_DeadLetters]'),
               (N'[audit].[vw_Errors]'), (N'[audit].[vw_FailedConversations]'), (N'[audit].[vw_Pending]'),
               (N'[audit].[vw_Queues]'), (N'[audit].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [audit] was activated: an earlier script failed and something its reader needs is missing. Next: run redial.sql again.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [audit].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 2
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[audit].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER QUEUE [audit].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [audit].[usp_SenderActivation],
        MAX_QUEUE_READERS = 2,
        EXECUTE AS N'audit_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [audit].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[audit].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER QUEUE [audit].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [audit].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'audit_module'
    );
END;
GO
