SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [audit].[ufn_HealthQueues]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* A part of usp_Health: are the queues on, read by whom they should be, and who is told when not? */
BEGIN
    DECLARE @missing int = 2 - (SELECT COUNT(*) FROM [audit].[ufn_Queues]());

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'queue off', q.QueueName, NULL,
        N'Messages wait; nothing is lost. Five rollbacks in a row switch a queue off: look in vw_Errors first and mend the cause (a full disk, say), then start it.',
        CONCAT(N'EXECUTE [audit].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: queue off'', @WhatIf = 0;')
    FROM [audit].[ufn_Queues]() AS q
    WHERE q.IsReceiveEnabled = 0
       OR q.IsEnqueueEnabled = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'activation off', q.QueueName, NULL, N'Nobody reads the queue. Somebody switched its activation off: ask why, then start it.',
        CONCAT(N'EXECUTE [audit].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: activation off'', @WhatIf = 0;')
    FROM [audit].[ufn_Queues]() AS q
    WHERE q.IsActivationEnabled = 0
       OR q.ActivationProcedure IS NULL;

    /* Tried again every five seconds, with a line in the server's error log each time (F-255). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN 1 ELSE 10 END, N'other activation procedure', q.QueueName,
        LEFT(CONCAT(q.ActivationProcedure, CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN N' (missing)' ELSE N'' END,
            N' as ', ISNULL(USER_NAME(sq.execute_as_principal_id), N'somebody else')), 100),
        N'Expected: [audit].[usp_SenderActivation] and [audit].[usp_TargetActivation], as [audit_module]. Starting the queue sets both; then look in the server''s error log for lines 9724.',
        CONCAT(N'EXECUTE [audit].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: other activation procedure'', @WhatIf = 0;')
    FROM [audit].[ufn_Queues]() AS q
    INNER JOIN sys.service_queues AS sq ON sq.object_id = OBJECT_ID(CONCAT(N'[audit]', N'.', QUOTENAME(q.QueueName)), N'SQ')
    WHERE q.ActivationProcedure IS NOT NULL
      AND (ISNULL(OBJECT_ID(q.ActivationProcedure), 0) <> ISNULL(OBJECT_ID(CASE WHEN q.Side = N'target' THEN N'[audit].[usp_TargetActivation]' ELSE N'[audit].[usp_SenderActivation]' END, N'P'), -1)
           OR ISNULL(sq.execute_as_principal_id, 0) <> DATABASE_PRINCIPAL_ID(N'audit_module'));

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'queue differs from configuration', q.QueueName,
        CONCAT(q.MaxReaders, N' readers, retention ', q.IsRetentionEnabled, N', poison handling ', q.IsPoisonMessageHandlingEnabled),
        N'Expected: 2 readers of the initiator''s queue, 4 of the target''s, retention 0 (it lets the queue grow as long as dialogs live), poison handling 1 (else a fault spins). Starting the queue sets them; or change the configuration.',
        CONCAT(N'EXECUTE [audit].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: queue differs from configuration'', @WhatIf = 0;')
    FROM [audit].[ufn_Queues]() AS q
    WHERE q.MaxReaders <> CASE WHEN q.Side = N'target' THEN 4 ELSE 2 END
       OR q.IsRetentionEnabled = 1
       OR q.IsPoisonMessageHandlingEnabled <> CASE WHEN q.Side = N'target' THEN 1 ELSE 1 END;

    IF @missing > 0
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (1, N'queue missing', NULL, NULL, N'A queue is not in this database, or the module user may not see it: whoever deploys runs redial.sql again.', NULL);

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN q.Messages IS NULL THEN 150 WHEN q.Messages > 100000 THEN 50 ELSE 200 END,
        CASE WHEN q.Messages IS NULL THEN N'not looked at' ELSE N'messages in a queue' END, q.QueueName, CONCAT(N'about ', q.Messages),
        CASE WHEN q.Messages IS NULL THEN N'How long it is: sys.internal_tables does not show the module user the table of its queue (F-172). A member of db_owner sees it there and in sys.partitions.'
             WHEN q.Messages > 100000 THEN N'Readers do not keep up, or none runs: see the readers below, and docs/runbook/backlog.md. One conversation feeds one reader only.'
             ELSE N'From sys.partitions, without reading the queue.' END, NULL
    FROM [audit].[ufn_Queues]() AS q;

    RETURN;
END;
GO
