SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[logging].[ConversationLog]'), (N'[logging].[DeadLetter]'), (N'[logging].[DeploymentAttempt]'),
               (N'[logging].[DeploymentHistory]'), (N'[logging].[DeploymentText]'), (N'[logging].[ErrorLog]'),
               (N'[logging].[Everlasting]'), (N'[logging].[Gate]'), (N'[logging].[Landing]'),
               (N'[logging].[LandingAcknowledged]'), (N'[logging].[MessageBatch]'), (N'[logging].[Migration]'),
               (N'[logging].[OperatorLog]'), (N'[logging].[Outbox]'), (N'[logging].[OwnedObject]'),
               (N'[logging].[PoisonAttempt]'), (N'[logging].[ReceivedBatch]'), (N'[logging].[SentMessage]'),
               (N'[logging].[SessionConversations]'), (N'[logging].[Setting]'), (N'[logging].[ufn_Conversations]'),
               (N'[logging].[ufn_HealthBroker]'), (N'[logging].[ufn_HealthConversations]'),
               (N'[logging].[ufn_HealthData]'), (N'[logging].[ufn_HealthPending]'), (N'[logging].[ufn_HealthQueues]'),
               (N'[logging].[ufn_Leaked]'), (N'[logging].[ufn_Pending]'), (N'[logging].[ufn_QueuePages]'),
               (N'[logging].[ufn_Queues]'), (N'[logging].[ufn_ReadBatch]'), (N'[logging].[usp_AcknowledgeLanding]'),
               (N'[logging].[usp_AcquireConversation]'), (N'[logging].[usp_ArmTimer]'),
               (N'[logging].[usp_BeginConversation]'), (N'[logging].[usp_CheckHealth]'),
               (N'[logging].[usp_CheckMessages]'), (N'[logging].[usp_CloseDialogs]'),
               (N'[logging].[usp_CloseEverlasting]'), (N'[logging].[usp_CloseGate]'), (N'[logging].[usp_Drain]'),
               (N'[logging].[usp_DropCopies]'), (N'[logging].[usp_EndInitiator]'), (N'[logging].[usp_EndLeaked]'),
               (N'[logging].[usp_EndLeakedOne]'), (N'[logging].[usp_EndTarget]'), (N'[logging].[usp_FindPoison]'),
               (N'[logging].[usp_Health]'), (N'[logging].[usp_InTheWay]'), (N'[logging].[usp_LandBatch]'),
               (N'[logging].[usp_LandRow]'), (N'[logging].[usp_LogError]'), (N'[logging].[usp_Mark]'),
               (N'[logging].[usp_MoveCopies]'), (N'[logging].[usp_OpenGate]'), (N'[logging].[usp_PickConversation]'),
               (N'[logging].[usp_PurgeDeadLetter]'), (N'[logging].[usp_PurgeLanding]'), (N'[logging].[usp_PurgeLogs]'),
               (N'[logging].[usp_PurgePoison]'), (N'[logging].[usp_ReadErrorBody]'), (N'[logging].[usp_RecordPoison]'),
               (N'[logging].[usp_RehearseLanding]'), (N'[logging].[usp_ReopenGate]'),
               (N'[logging].[usp_ReorganizeQueue]'), (N'[logging].[usp_ReplayDeadLetter]'), (N'[logging].[usp_Resend]'),
               (N'[logging].[usp_ResendLeft]'), (N'[logging].[usp_ResendPending]'), (N'[logging].[usp_ResendStranded]'),
               (N'[logging].[usp_Send]'), (N'[logging].[usp_SendBatch]'), (N'[logging].[usp_SendEndOfStream]'),
               (N'[logging].[usp_SenderActivation]'), (N'[logging].[usp_SendMessages]'),
               (N'[logging].[usp_SendPrivately]'), (N'[logging].[usp_StartQueue]'),
               (N'[logging].[usp_TargetActivation]'), (N'[logging].[usp_WaitForEnds]'),
               (N'[logging].[usp_WaitForServer]'), (N'[logging].[vw_Conversations]'), (N'[logging].[vw_DeadLetters]'),
               (N'[logging].[vw_Errors]'), (N'[logging].[vw_FailedConversations]'), (N'[logging].[vw_Pending]'),
               (N'[logging].[vw_Queues]'), (N'[logging].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [logging] was activated: an earlier script failed and something its reader needs is missing. Next: run redial.sql again.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [logging].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [logging].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 1
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[logging].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    ALTER QUEUE [logging].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [logging].[usp_SenderActivation],
        MAX_QUEUE_READERS = 1,
        EXECUTE AS N'logging_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [logging].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [logging].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 1
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[logging].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    ALTER QUEUE [logging].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [logging].[usp_TargetActivation],
        MAX_QUEUE_READERS = 1,
        EXECUTE AS N'logging_module'
    );
END;
GO
