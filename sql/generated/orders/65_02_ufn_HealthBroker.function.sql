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
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* A part of usp_Health: database, rights, gate, version. */
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
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (1, N'broker off', DB_NAME(), NULL,
            N'Nothing is delivered: sends pile up in sys.transmission_queue. A restore or attach switches it off. A member of db_owner runs ALTER DATABASE CURRENT SET ENABLE_BROKER, which needs the database for itself.', NULL);
    IF @ownerName IS NULL
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N'database without owner', DB_NAME(), NULL,
            N'The owner is no login of this server (a restore from elsewhere?): activation may fail with 15517 or 916. An administrator runs ALTER AUTHORIZATION ON DATABASE:: this database TO a login.', NULL);
    ELSE IF NOT EXISTS (SELECT 1
                        FROM sys.databases AS d
                        INNER JOIN sys.database_principals AS dp ON dp.name = N'dbo' AND dp.sid = d.owner_sid
                        WHERE d.database_id = DB_ID())
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N'database with two owners', DB_NAME(), @ownerName,
            N'The server knows another owner than the database itself, as after a failover or an attach: activation may fail with 15517 or 33009. An administrator runs ALTER AUTHORIZATION ON DATABASE:: this database TO a login.', NULL);
    IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.delayed_durability = 2)
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N'committed is not durable', DB_NAME(), N'DELAYED_DURABILITY = FORCED',
            N'What was committed is not yet on disk: a message could be lost when the server stops. A member of db_owner runs ALTER DATABASE CURRENT SET DELAYED_DURABILITY = DISABLED, or ALLOWED.', NULL);
    IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_auto_close_on = 1)
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (50, N'database closes by itself', DB_NAME(), N'AUTO_CLOSE ON',
            N'It closes with its last session, and no reader starts until somebody comes. A member of db_owner runs ALTER DATABASE CURRENT SET AUTO_CLOSE OFF.', NULL);
    IF @isPriorityHonored = 0
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (150, N'priority in the queues only', DB_NAME(), N'8',
            N'HONOR_BROKER_PRIORITY is off: level 8 counts for RECEIVE, which is all there is inside one instance. To other instances it is not sent first. A member of db_owner may run ALTER DATABASE CURRENT SET HONOR_BROKER_PRIORITY ON, which needs the database for itself.', NULL);
    IF (SELECT COUNT(*)
        FROM sys.conversation_priorities AS cp
        INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/orders/initiator', N'//redial/orders/target') AND cp.priority = 8) < 2
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (50, N'priority missing', DB_NAME(), N'8',
            N'Not every BROKER PRIORITY of level 8 is there: whoever deploys runs redial.sql again. Conversations keep the level they began with.', NULL);

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Rights, gate, version                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    VALUES (200, N'pending dialogs, not messages', N'sys.transmission_queue', NULL,
        N'orders_module is no member of db_owner, and so it was chosen. vw_Pending has the dialogs whose last try failed, and why; vw_Unlanded has the messages. What is CLOSED past its time, usp_EndLeaked cleans up for a caller who is one.', NULL);
    /* Counted, since the module user sees no service of another. */
    IF (SELECT COUNT(*) FROM sys.services AS s
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/orders/initiator', N'//redial/orders/target')
          AND s.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module')) < 2
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N'service owned by another', N'orders_module', NULL,
            N'Or it is gone. Our procedures work as the owner of their services, and the right to SEND is checked against it. A member of db_owner runs ALTER AUTHORIZATION ON SERVICE:: each of ours TO the module user; for one that is gone, whoever deploys runs redial.sql again.', NULL);

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'gate closed', N'orders', CONCAT(N'since ', CONVERT(nvarchar(19), g.ChangedUtc, 120), N' UTC'),
        CONCAT(N'usp_Send refuses with 50102. By ', g.ChangedBy, N': ', g.Reason, N'. ',
            CASE WHEN m.Name IS NOT NULL THEN N'A deployment has not come to its end: whoever deploys runs redial.sql again, it opens the gate.'
                 ELSE N'When that is over, open it.' END),
        CASE WHEN m.Name IS NULL THEN N'EXECUTE [orders].[usp_OpenGate] @reason = N''usp_Health: it is over'';' END
    FROM [orders].[Gate] AS g WITH (NOLOCK)       /* waits for no sender */
    LEFT OUTER JOIN [orders].[Setting] AS m WITH (NOLOCK) ON m.Name = N'deployment.gate'
    WHERE g.ConfigId = 1
      AND g.IsOpen = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT TOP (1) 200, N'version', h.ConfigName, h.Version, CONCAT(N'deployed ', CONVERT(nvarchar(19), h.DeployedUtc, 120), N' UTC by ', h.DeployedBy), NULL
    FROM [orders].[DeploymentHistory] AS h WITH (NOLOCK)
    ORDER BY h.DeploymentId DESC;

    RETURN;
END;
GO
