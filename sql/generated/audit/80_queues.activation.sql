SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it (F-130). */
IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
               WHERE q.object_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ')
                 AND q.is_activation_enabled = 1
                 AND q.max_readers = 2
                 AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[audit].[usp_SenderActivation]', N'P')
                 AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [audit].[usp_SenderActivation],
        MAX_QUEUE_READERS = 2,
        EXECUTE AS N'audit_module'
    );
END;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
               WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ')
                 AND q.is_activation_enabled = 1
                 AND q.max_readers = 4
                 AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[audit].[usp_TargetActivation]', N'P')
                 AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [audit].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'audit_module'
    );
END;
GO
