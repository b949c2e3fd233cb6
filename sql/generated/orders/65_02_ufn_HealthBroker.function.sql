SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [orders].[ufn_HealthBroker]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL
)
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* First part of usp_Health: database, queues, rights, gate, version. */
BEGIN
    DECLARE @ownerName nvarchar(128);
    DECLARE @isBrokerEnabled bit;
    DECLARE @isPriorityHonored bit;

    SELECT @ownerName = SUSER_SNAME(d.owner_sid), @isBrokerEnabled = d.is_broker_enabled,
        @isPriorityHonored = d.is_honor_broker_priority_on
    FROM sys.databases AS d
    WHERE d.database_id = DB_ID();

    /* ----------------------------------------------------------------------------------------- */
    /* 1  The database                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @isBrokerEnabled = 0
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (1, N'broker off', DB_NAME(), NULL,
            N'Nothing is delivered: sends pile up in sys.transmission_queue. A restore or attach switches it off. ALTER DATABASE CURRENT SET ENABLE_BROKER needs the database for itself (WITH ROLLBACK IMMEDIATE).');
    END;
    IF @ownerName IS NULL
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (10, N'database without owner', DB_NAME(), NULL,
            N'The owner is no login of this server (a restore from elsewhere?): activation may fail with 15517 or 916. ALTER AUTHORIZATION ON DATABASE:: this database TO a login.');
    END;
    IF @isPriorityHonored = 0
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (150, N'priority in the queues only', DB_NAME(), N'8',
            N'HONOR_BROKER_PRIORITY is off: level 8 counts for RECEIVE, which is all there is inside one instance. To other instances it is not sent first. ALTER DATABASE CURRENT SET HONOR_BROKER_PRIORITY ON needs the database for itself.');
    END;
    IF (SELECT COUNT(*)
        FROM sys.conversation_priorities AS cp
        INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/orders/initiator', N'//redial/orders/target') AND cp.priority = 8) < 2
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (50, N'priority missing', DB_NAME(), N'8',
            N'Not every BROKER PRIORITY of level 8 is there: deploy again. Conversations keep the level they began with.');
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  The queues                                                                               */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 1, N'queue off', q.QueueName, NULL,
        CONCAT(N'ALTER QUEUE ', N'[orders]', N'.', QUOTENAME(q.QueueName),
            N' WITH STATUS = ON; but first look in vw_Errors: five rollbacks in a row switch a queue off.')
    FROM [orders].[ufn_Queues]() AS q
    WHERE q.IsReceiveEnabled = 0
       OR q.IsEnqueueEnabled = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 1, N'activation off', q.QueueName, NULL,
        CONCAT(N'Nobody reads the queue. ALTER QUEUE ', N'[orders]', N'.', QUOTENAME(q.QueueName),
            N' WITH ACTIVATION (STATUS = ON); or deploy again.')
    FROM [orders].[ufn_Queues]() AS q
    WHERE q.IsActivationEnabled = 0
       OR q.ActivationProcedure IS NULL;

    /* Tried again every five seconds, with a line in the server's error log each time (F-255). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN 1 ELSE 10 END, N'other activation procedure', q.QueueName,
        LEFT(CONCAT(q.ActivationProcedure, CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN N' (missing)' ELSE N'' END,
            N' as ', ISNULL(USER_NAME(sq.execute_as_principal_id), N'somebody else')), 100),
        N'Expected: [orders].[usp_SenderActivation] and [orders].[usp_TargetActivation], as [orders_module]. Deploy again: it sets both; then look in the server''s error log for lines 9724.'
    FROM [orders].[ufn_Queues]() AS q
    INNER JOIN sys.service_queues AS sq ON sq.object_id = OBJECT_ID(CONCAT(N'[orders]', N'.', QUOTENAME(q.QueueName)), N'SQ')
    WHERE q.ActivationProcedure IS NOT NULL
      AND (ISNULL(OBJECT_ID(q.ActivationProcedure), 0) <> ISNULL(OBJECT_ID(CASE WHEN q.Side = N'target' THEN N'[orders].[usp_TargetActivation]' ELSE N'[orders].[usp_SenderActivation]' END, N'P'), -1)
           OR ISNULL(sq.execute_as_principal_id, 0) <> DATABASE_PRINCIPAL_ID(N'orders_module'));

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 50, N'queue differs from configuration', q.QueueName,
        CONCAT(q.MaxReaders, N' readers, retention ', q.IsRetentionEnabled, N', poison handling ', q.IsPoisonMessageHandlingEnabled),
        N'Expected: 4 readers of the initiator''s queue, 4 of the target''s, retention 0 (it lets the queue grow as long as dialogs live), poison handling 1 (else a fault spins). Deploy again, or change the configuration.'
    FROM [orders].[ufn_Queues]() AS q
    WHERE q.MaxReaders <> CASE WHEN q.Side = N'target' THEN 4 ELSE 4 END
       OR q.IsRetentionEnabled = 1
       OR q.IsPoisonMessageHandlingEnabled = 0;

    IF (SELECT COUNT(*) FROM [orders].[ufn_Queues]()) < 2
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (1, N'queue missing', NULL, NULL, N'A queue is not in this database, or the module user may not see it: deploy again.');
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Rights, gate, version                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    IF ISNULL(IS_MEMBER(N'db_owner'), 0) <> 1
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (10, N'pending messages not visible', N'orders_module', NULL,
            N'sys.transmission_queue looks empty to it: neither vw_Pending nor this report can say why a message waits, and usp_EndLeaked leaves what is CLOSED. Nothing is lost by it. Why: user ''orders_module'' must be a member of db_owner. Next: ALTER ROLE db_owner ADD MEMBER [orders_module]; unless that is what you chose.');
    END;
    IF EXISTS (SELECT 1 FROM sys.services AS s
               WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/orders/initiator', N'//redial/orders/target')
                 AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'orders_module'))
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (10, N'service owned by another', N'orders_module', NULL,
            N'The right to SEND is checked against the owner of the initiating service: ALTER AUTHORIZATION ON SERVICE:: both services TO the module user.');
    END;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 10, N'gate closed', N'orders', CONCAT(N'since ', CONVERT(nvarchar(19), g.ChangedUtc, 120), N' UTC'),
        CONCAT(N'usp_Send refuses with 50102. By ', g.ChangedBy, N': ', g.Reason, N'. ',
            CASE WHEN EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate')
                 THEN N'It has not come to its end: run install.sql again, it opens the gate.'
                 ELSE N'When that is over: EXECUTE usp_OpenGate @reason = ...' END)
    FROM [orders].[Gate] AS g WITH (NOLOCK)       /* waits for no sender */
    WHERE g.ConfigId = 1
      AND g.IsOpen = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT TOP (1) 200, N'version', h.ConfigName, h.Version, CONCAT(N'deployed ', CONVERT(nvarchar(19), h.DeployedUtc, 120), N' UTC by ', h.DeployedBy)
    FROM [orders].[DeploymentHistory] AS h
    ORDER BY h.DeploymentId DESC;

    IF (SELECT COUNT(*) FROM [orders].[Migration]) < 0
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (10, N'migration missing', N'[orders].[Migration]', NULL, N'Version 0.1.0 knows 0 numbered migrations of the tables, fewer were applied: deploy again, and look at its messages.');
    END;

    RETURN;
END;
GO
