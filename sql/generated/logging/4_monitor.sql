/* Redial 0.1.0, configuration logging: 4_monitor.sql, usp_Health and the views. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'4_monitor.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'2a0f67b0db646fbc [2-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'2_bulk.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 4_monitor.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_Conversations]()
RETURNS @conversations TABLE
(
    Side nvarchar(10) NOT NULL,             /* initiator or target */
    ConversationHandle uniqueidentifier NOT NULL,
    ConversationId uniqueidentifier NOT NULL,   /* the same on both sides */
    State nvarchar(60) NULL,
    Purpose nvarchar(20) NOT NULL,          /* see below */
    ConversationKey nvarchar(200) NULL,     /* of the initiator's side */
    BegunUtc datetime2(3) NULL,             /* NULL: not in ConversationLog */
    AgeSeconds bigint NULL,
    EndOfStreamUtc datetime2(3) NULL,
    Sent bigint NOT NULL,                   /* of this side, EndOfStream included */
    Received bigint NOT NULL,
    TimerDue datetime NULL,
    LifetimeUtc datetime NOT NULL,
    ClosedUntilUtc datetime NULL,           /* CLOSED rows: the server removes them after this */
    Priority tinyint NOT NULL
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Behind vw_Conversations. A function, because it may run as the module user: what a catalog view
   shows depends on the rights of whoever reads it, and an operator has none on services and queues (F-172).
   Purpose: in use (senders find its handle in Everlasting), closing (EndOfStream was sent), resend (a private dialog of
   usp_ResendPending or of a replay), target, unknown.
   NOLOCK throughout: whoever watches must neither wait for senders nor make them wait. */
BEGIN
    INSERT INTO @conversations
        (Side, ConversationHandle, ConversationId, State, Purpose, ConversationKey, BegunUtc, AgeSeconds,
         EndOfStreamUtc, Sent, Received, TimerDue, LifetimeUtc, ClosedUntilUtc, Priority)
    SELECT
        CASE WHEN ce.is_initiator = 1 THEN N'initiator' ELSE N'target' END,
        ce.conversation_handle, ce.conversation_id, ce.state_desc,
        CASE WHEN ce.is_initiator = 0 THEN N'target'
             WHEN cl.ResendOf IS NOT NULL THEN N'resend'
             WHEN cl.EndOfStreamUtc IS NOT NULL THEN N'closing'
             WHEN ce.conversation_group_id = N'54A9E148-F784-5F6A-830F-1A6F292962F7' THEN N'in use'
             ELSE N'unknown' END,
        cl.ConversationKey, cl.BegunUtc,
        DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()), cl.EndOfStreamUtc,
        ce.send_sequence, ce.receive_sequence,
        NULLIF(ce.dialog_timer, '19000101'), ce.lifetime,
        CASE WHEN ce.state = 'CD' THEN NULLIF(ce.security_timestamp, '19000101') END, ce.priority
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER JOIN [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target');

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_Leaked](
    @most int                           /* at most so many of each kind: there may be hundreds of thousands */
)
RETURNS @leaked TABLE
(
    LeakedId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    Handle uniqueidentifier NOT NULL,
    ConversationId uniqueidentifier NULL,
    IsInitiator bit NOT NULL,
    State nvarchar(60) NOT NULL,
    ConversationKey nvarchar(200) NULL,
    Action nvarchar(30) NOT NULL
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* What usp_EndLeaked would look at: candidates, each of which it checks again under locks. NOLOCK: the
   list waits for nobody, and a dialog that is just being begun is seen with its row.
   GIVE UP: it was sent EndOfStream and nobody is there to answer.
   END ALONE: a target whose sender's side was ended by hand WITH CLEANUP, of which nobody is told (F-463).
   END UNREACHABLE: it was sent EndOfStream, and the service it leads to does not exist.
   No leaks: the everlasting dialog (its group is fixed, it has no row), dialogs whose EndOfStream was sent, private
   dialogs of a resend or replay (closed when they were made). */
BEGIN
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')
      AND ce.state IN ('DI', 'ER');

    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc,
        CASE WHEN ce.state = 'SO' THEN N'END UNUSED' ELSE N'CLOSE' END
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND ce.conversation_group_id <> N'54A9E148-F784-5F6A-830F-1A6F292962F7'
      AND NOT EXISTS (SELECT 1
                      FROM [logging].[ConversationLog] AS cl
                          WITH (NOLOCK, FORCESEEK)
                      WHERE cl.Handle = ce.conversation_handle
                        AND cl.EndOfStreamUtc IS NOT NULL);

    /* The target answers within minutes, or an Error says why not: unless its side was ended WITH CLEANUP,
       of which nobody is told. One that waits for its queue or service has a transmission status. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'GIVE UP'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    INNER JOIN [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator'
      AND ce.is_initiator = 1
      AND ce.state = 'CO'
      AND cl.EndOfStreamUtc < DATEADD(second, -600, SYSUTCDATETIME())
      AND GET_TRANSMISSION_STATUS(ce.conversation_handle) = N''
      /* Behind a queue that is off a target is not gone, whatever the status says (F-545). */
      AND EXISTS (SELECT 1 FROM sys.service_queues AS tq
                  WHERE tq.object_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ') AND tq.is_receive_enabled = 1 AND tq.is_enqueue_enabled = 1)
      AND NOT EXISTS (SELECT 1
                      FROM sys.conversation_endpoints AS t WITH (NOLOCK)
                      WHERE t.conversation_id = ce.conversation_id AND t.is_initiator = 0 AND t.state <> 'CD');

    /* EndOfStream was sent long ago, the server says that it cannot deliver it, and there is no such service
       here. A service that is only missing for now would keep its copies: those are not listed. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END UNREACHABLE'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    INNER JOIN [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND cl.EndOfStreamUtc < DATEADD(second, -600, SYSUTCDATETIME())
      AND GET_TRANSMISSION_STATUS(ce.conversation_handle) <> N''
      AND NOT EXISTS (SELECT 1 FROM sys.services AS f WHERE f.name COLLATE Latin1_General_BIN2 = ce.far_service COLLATE Latin1_General_BIN2)
      AND NOT EXISTS (SELECT 1 FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id);

    /* Nothing more will come, and no Error either. HASH: one pass over the view for all of them (F-153). */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END ALONE'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS i WITH (NOLOCK)
        ON i.conversation_id = ce.conversation_id AND i.is_initiator = 1
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target'
      AND ce.is_initiator = 0
      AND ce.state = 'CO'
      AND i.conversation_handle IS NULL;

    /* A CLOSED row guards against replays until security_timestamp; 1900 means that was never set,
       and then the row is kept until 30 minutes after the lifetime (F-106). Both are UTC. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END WITH CLEANUP'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')
      AND ce.state = 'CD'
      AND ((ce.security_timestamp > '19000101' AND ce.security_timestamp < GETUTCDATE())
           OR (ce.security_timestamp = '19000101' AND ce.lifetime < DATEADD(minute, -30, GETUTCDATE())));

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_Pending]()
RETURNS @pending TABLE
(
    ConversationHandle uniqueidentifier NOT NULL,
    MessageSequence bigint NULL,
    MessageType nvarchar(256) NULL,
    IsEndOfDialog bit NULL,
    IsError bit NULL,
    EnqueuedUtc datetime NULL,
    WaitingSeconds int NULL,
    ToService nvarchar(256) NULL,
    TransmissionStatus nvarchar(4000) NULL,
    Header varbinary(1300) NULL             /* of the body: who sent it, in vw_Pending */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Behind vw_Pending: each dialog of this configuration whose last message could not be delivered, and why.
   Of a dialog that has not been tried, and of its messages one by one, only sys.transmission_queue knows,
   which shows no row outside db_owner (F-113): those columns are NULL. Waiting is its oldest message that
   has not landed. GET_TRANSMISSION_STATUS needs no right on its page (F-545). At most 10,000 rows. */
BEGIN
    INSERT INTO @pending (ConversationHandle, EnqueuedUtc, WaitingSeconds, ToService, TransmissionStatus)
    SELECT TOP (10000)
        d.conversation_handle, o.SentUtc, DATEDIFF(second, o.SentUtc, GETUTCDATE()), d.far_service, d.TransmissionStatus
    FROM (SELECT TOP (200000) ce.conversation_handle, ce.conversation_id, ce.far_service,
              GET_TRANSMISSION_STATUS(ce.conversation_handle) AS TransmissionStatus
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody; may show what rolls back */
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')
            AND ce.state IN ('SO', 'CO', 'DO')) AS d      /* others have nothing to send */
    OUTER APPLY (SELECT TOP (1) sm.SentUtc
                 FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)     /* its rows only */
                 WHERE sm.ConversationId = d.conversation_id
                 ORDER BY sm.MessageSequence) AS o
    WHERE d.TransmissionStatus > N'';

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_QueuePages]()
RETURNS @pages TABLE
(
    QueueName nvarchar(128) NOT NULL,
    Pages bigint NULL,                      /* of the rows; bodies of more than 8,000 bytes lie elsewhere */
    FragmentationPercent float NULL
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* How many pages each queue takes, and how far they are out of order. Mode LIMITED reads the pages above
   the leaves only: no message, and no lock but an intent lock on the table (F-501). Records and ghosts are
   not counted in that mode; but no page holds less than one row, so far more pages than messages are ghosts
   or empty. A function of its own: where the right to ask is missing, the others still answer. */
BEGIN
    INSERT INTO @pages (QueueName, Pages, FragmentationPercent)
    SELECT q.name, ps.page_count, ps.avg_fragmentation_in_percent
    FROM sys.service_queues AS q
    CROSS APPLY sys.dm_db_index_physical_stats(DB_ID(), q.object_id, 1, NULL, N'LIMITED') AS ps
    WHERE q.object_id IN (OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[logging].[TargetQueue]', N'SQ'))
      AND ps.alloc_unit_type_desc = N'IN_ROW_DATA';

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_Queues]()
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
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Behind vw_Queues; a function for the reason given in ufn_Conversations.
   Messages is what sys.partitions says of the queue's internal table, never counted: COUNT(*) over a
   long queue scans it and stops its readers (F-170). The state of a queue monitor is the server's
   business and not visible from here: usp_Health shows it to a caller with VIEW SERVER STATE. */
BEGIN
    DECLARE @initiator int = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ');
    DECLARE @target int = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ');
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
CREATE OR ALTER FUNCTION [logging].[ufn_HealthBroker]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
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
        VALUES (150, N'priority in the queues only', DB_NAME(), N'3',
            N'HONOR_BROKER_PRIORITY is off: level 3 counts for RECEIVE, which is all there is inside one instance. To other instances it is not sent first. A member of db_owner may run ALTER DATABASE CURRENT SET HONOR_BROKER_PRIORITY ON, which needs the database for itself.', NULL);
    IF (SELECT COUNT(*)
        FROM sys.conversation_priorities AS cp
        INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target') AND cp.priority = 3) < 2
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (50, N'priority missing', DB_NAME(), N'3',
            N'Not every BROKER PRIORITY of level 3 is there: whoever deploys does so again. Conversations keep the level they began with.', NULL);

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Rights, gate, version                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    VALUES (200, N'pending dialogs, not messages', N'sys.transmission_queue', NULL,
        N'logging_module is no member of db_owner, and so it was chosen. vw_Pending has the dialogs whose last try failed, and why; vw_Unlanded has the messages. What is CLOSED past its time, usp_EndLeaked cleans up for a caller who is one.', NULL);
    /* Counted, since the module user sees no service of another. */
    IF (SELECT COUNT(*) FROM sys.services AS s
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')
          AND s.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module')) < 2
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N'service owned by another', N'logging_module', NULL,
            N'Or it is gone. Our procedures work as the owner of their services, and the right to SEND is checked against it. A member of db_owner runs ALTER AUTHORIZATION ON SERVICE:: each of ours TO the module user; for one that is gone, whoever deploys does so again.', NULL);

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'gate closed', N'logging', CONCAT(N'since ', CONVERT(nvarchar(19), g.ChangedUtc, 120), N' UTC'),
        CONCAT(N'usp_Send refuses with 50102. By ', g.ChangedBy, N': ', g.Reason, N'. ',
            CASE WHEN m.Name IS NOT NULL THEN N'A deployment has not come to its end: whoever deploys does so again, it opens the gate.'
                 ELSE N'When that is over, open it.' END),
        CASE WHEN m.Name IS NULL THEN N'EXECUTE [logging].[usp_OpenGate] @reason = N''usp_Health: it is over'';' END
    FROM [logging].[Gate] AS g WITH (NOLOCK)       /* waits for no sender */
    LEFT OUTER JOIN [logging].[Setting] AS m WITH (NOLOCK) ON m.Name = N'deployment.gate'
    WHERE g.ConfigId = 1
      AND g.IsOpen = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT TOP (1) 200, N'version', h.ConfigName, h.Version, CONCAT(N'deployed ', CONVERT(nvarchar(19), h.DeployedUtc, 120), N' UTC by ', h.DeployedBy), NULL
    FROM [logging].[DeploymentHistory] AS h WITH (NOLOCK)
    ORDER BY h.DeploymentId DESC;

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthConversations]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* A part of usp_Health: endpoints and dialogs. Every count is bounded. */
BEGIN
    DECLARE @states TABLE
    (
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        Endpoints int NOT NULL,
        Old int NOT NULL,               /* in use for longer than the configuration lets them */
        OldestSeconds bigint NULL,
        Ending int NOT NULL,            /* in use, and near the end of their lifetime */
        FirstEndUtc datetime NULL,
        PRIMARY KEY (IsInitiator, State)
    );

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Endpoints by state, and the ages of those in use, in one pass over the view              */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @states (IsInitiator, State, Endpoints, Old, OldestSeconds, Ending, FirstEndUtc)
    SELECT e.is_initiator, e.state_desc, COUNT(*),
        0, MAX(e.AgeSeconds),
        SUM(CASE WHEN e.EndUtc < DATEADD(second, 3690, GETUTCDATE()) THEN 1 ELSE 0 END), MIN(e.EndUtc)
    FROM (SELECT TOP (200000) ce.is_initiator, ce.state_desc,
              /* Of dialogs in use only, as in ufn_Conversations. */
              CASE WHEN ce.is_initiator = 1 AND ce.conversation_group_id = N'54A9E148-F784-5F6A-830F-1A6F292962F7' AND cl.ResendOf IS NULL AND cl.EndOfStreamUtc IS NULL THEN DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()) END AS AgeSeconds,
              CASE WHEN ce.is_initiator = 1 AND ce.conversation_group_id = N'54A9E148-F784-5F6A-830F-1A6F292962F7' AND cl.ResendOf IS NULL AND cl.EndOfStreamUtc IS NULL THEN ce.lifetime END AS EndUtc
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          LEFT OUTER JOIN [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)
              ON cl.Handle = ce.conversation_handle AND ce.is_initiator = 1
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')) AS e
    GROUP BY e.is_initiator, e.state_desc;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN e.Endpoints >= 100000 THEN 50 ELSE 200 END,
        N'endpoints', CONCAT(CASE WHEN e.IsInitiator = 1 THEN N'initiator, ' ELSE N'target, ' END, e.State),
        CONCAT(CASE WHEN e.Endpoints >= 100000 THEN N'at least ' ELSE N'' END, e.Endpoints),
        CASE WHEN e.Endpoints >= 100000 THEN N'So many are a leak, or a dialog per message: see usp_EndLeaked. They slow down every SEND and a restart.'
             ELSE N'CLOSED ones are the target''s memory against replays and go after about 30 minutes.' END, NULL
    FROM @states AS e;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN l.Action = N'END WITH CLEANUP' THEN 100 ELSE 50 END,
        CASE WHEN l.Action = N'END WITH CLEANUP' THEN N'CLOSED past their time' ELSE N'leaked conversations' END,
        l.Action, CONCAT(CASE WHEN COUNT(*) >= 1001 THEN N'at least ' ELSE N'' END, COUNT(*)),
        N'Look with usp_EndLeaked first. A few DISCONNECTED ones come and go: their EndDialog is just being handled.',
        N'EXECUTE [logging].[usp_EndLeaked] @reason = N''usp_Health: leaked'', @WhatIf = 0;'
    FROM [logging].[ufn_Leaked](1001) AS l
    GROUP BY l.Action;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Ages                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'dialogs near the end of their lifetime', N'//redial/logging/initiator', CONCAT(SUM(e.Ending), N', first ', CONVERT(nvarchar(19), MIN(e.FirstEndUtc), 120), N' UTC'),
        N'Nobody sends on them any more: the next send passes them by. At the end both sides get Error -8489; what has not landed by then is sent again.',
        NULL
    FROM @states AS e
    HAVING SUM(e.Ending) > 0;

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthData]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* A part of usp_Health: dead letters, errors, poison, growth. Sizes come from sys.partitions, counts are bounded, and
   NOLOCK keeps it from waiting for whoever is just writing. */
BEGIN
    DECLARE @now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'dead letters unhandled', N'[logging].[DeadLetter]',
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N'at least ' ELSE N'' END, COUNT(*), N', first ', CONVERT(nvarchar(19), MIN(d.AddedUtc), 120), N' UTC'),
        N'See vw_DeadLetters for the reasons. Mend the cause, then replay them, a thousand at a time; what nobody needs: usp_PurgeDeadLetter.',
        CONCAT(N'EXECUTE [logging].[usp_ReplayDeadLetter] @deadLetterId = ', MIN(d.DeadLetterId), N', @toDeadLetterId = ',
            CASE WHEN MAX(d.DeadLetterId) - MIN(d.DeadLetterId) > 999 THEN MIN(d.DeadLetterId) + 999 ELSE MAX(d.DeadLetterId) END, N', @reason = N''usp_Health: mended'', @WhatIf = 0;')
    FROM (SELECT TOP (10000) dl.AddedUtc, dl.DeadLetterId FROM [logging].[DeadLetter] AS dl WITH (NOLOCK) WHERE dl.HandledUtc IS NULL ORDER BY dl.DeadLetterId) AS d
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'errors in the last hour', e.ProcedureName,
        CONCAT(COUNT(*), N', last ', CONVERT(nvarchar(19), MAX(e.AddedUtc), 120), N' UTC'),
        N'See vw_Errors for the texts.', NULL
    FROM (SELECT TOP (10000) el.ProcedureName, el.AddedUtc FROM [logging].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId DESC) AS e
    WHERE e.AddedUtc > DATEADD(hour, -1, @now)
    GROUP BY e.ProcedureName;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'poison messages', N'[logging].[PoisonAttempt]', CONCAT(COUNT(*), N', most rollbacks ', MAX(pa.Attempts)),
        N'These rows made their transaction roll back: see vw_Errors. At 1 whoever receives one next dead-letters it, and five rollbacks in a row would switch the queue off.', NULL
    FROM [logging].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.Attempts > 0               /* 0: the mark of a batch in a hook (F-163) */
    HAVING COUNT(*) > 0;

    /* Statements name these indexes: without one, disabled or under another name, they fail (308, 315). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'index missing', CONCAT(N'logging', N'.', n.TableName), n.IndexName,
        N'Statements name this index, and fail without it (308): a send, a reader, or a purge. Whoever deploys gives the index its name back (sp_rename), enables it (REBUILD), or makes it as the rendered file of its table does.', NULL
    FROM (SELECT st.name AS TableName, CONCAT(N'PK_', st.name) AS IndexName
          FROM sys.tables AS st
          INNER JOIN sys.extended_properties AS ep
              ON ep.class = 1 AND ep.major_id = st.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made'
          WHERE st.schema_id = SCHEMA_ID(N'logging')
          UNION ALL
          SELECT v.TableName, v.IndexName
          FROM (VALUES (N'SessionConversations', N'UX_SessionConversations_Handle'), 
                       (N'Inbox', N'IX_Inbox_ReceivedUtc'), (N'ConversationLog', N'IX_ConversationLog_ConversationId')) AS v(TableName, IndexName)) AS n
    CROSS APPLY (SELECT OBJECT_ID(CONCAT(N'[logging]', N'.', QUOTENAME(n.TableName)), N'U') AS Id) AS t
    WHERE t.Id IS NOT NULL
      AND ISNULL(INDEXPROPERTY(t.Id, n.IndexName, 'IsDisabled'), 1) = 1;      /* NULL: there is none */

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'messages wait for the server', N'[logging].[Landing]', LEFT(CONCAT(COUNT(*), N' conversations; ', MIN(pa.ErrorNumber), N': ', MIN(pa.ErrorMessage)), 100),
        N'How the server is set up keeps them from landing, no message does. Nothing is lost. Mend it (7139: raise max text repl size; see vw_Errors): they land within a minute.', NULL
    FROM [logging].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.MessageSequence = -3
    HAVING COUNT(*) > 0;

    /* ----------------------------------------------------------------------------------------- */
    /* Growth                                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 200, N'rows in a table', CONCAT(N'logging', N'.', o.name), CONCAT(N'about ', SUM(p.rows)),
        N'Kept by [retention]: landing 30, log 30, dead letters 30 days (0: for ever).', NULL
    FROM sys.objects AS o
    INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id = 1
    WHERE o.object_id IN (OBJECT_ID(N'[logging].[Landing]', N'U'), OBJECT_ID(N'[logging].[ConversationLog]', N'U'),
        OBJECT_ID(N'[logging].[ErrorLog]', N'U'), OBJECT_ID(N'[logging].[DeadLetter]', N'U'))
    GROUP BY o.name;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'landed rows past their time', N'[logging].[Landing]', CONCAT(N'first ', CONVERT(nvarchar(19), la.LandedUtc, 120), N' UTC'),
        N'[retention] keeps 30 days: the purge job does not run.',
        N'EXECUTE [logging].[usp_PurgeLanding] @reason = N''usp_Health: past its time'', @WhatIf = 0;'
    /* Not the first alone: a clock that was ahead may have dated it. */
    FROM (SELECT MIN(x.LandedUtc) AS LandedUtc
          FROM (SELECT TOP (1000) y.LandedUtc FROM [logging].[Landing] AS y WITH (NOLOCK) WHERE y.LandedUtc <= @now ORDER BY y.RowVersion) AS x) AS la
    WHERE la.LandedUtc < DATEADD(day, -31, @now);

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthPending]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* A part of usp_Health: messages on their way. Every count is bounded: where millions wait, a report must not make it worse. */
BEGIN
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @sentUtc datetime2(3);
    DECLARE @oldestUtc datetime2(3) = '9999-12-31';
    DECLARE @copies int;
    DECLARE @dialogs int = 0;
    DECLARE @sequence bigint;
    DECLARE @last bigint;
    DECLARE @old TABLE
    (
        ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
        Copies bigint NOT NULL          /* at most so many */
    );

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT
        CASE WHEN p.StatusKind IN (N'queue off', N'broker off', N'no service', N'no route', N'access') THEN 10
             WHEN p.StatusKind = N'far side ended' OR MAX(p.WaitingSeconds) > 300 THEN 50
             ELSE 150 END,
        N'messages pending', CONCAT(p.ToService, N': ', p.StatusKind),
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N'at least ' ELSE N'' END, COUNT(*), N' dialogs', N', oldest ' + CONVERT(nvarchar(11), MAX(p.WaitingSeconds)) + N' s'),
        CASE p.StatusKind
            WHEN N'queue off' THEN N'The target queue is off. Find out in vw_Errors what switched it off, then start it.'
            WHEN N'broker off' THEN N'A member of db_owner runs ALTER DATABASE ... SET ENABLE_BROKER in the database the text in vw_Pending names.'
            WHEN N'no service' THEN N'No service of this name is in this instance; names are compared byte by byte. Whoever deploys installs the target.'
            WHEN N'no route' THEN N'No route leads to the service. A database is born with AutoCreatedLocal: was it dropped?'
            WHEN N'access' THEN N'The owner of the initiating service may not enter the target''s database, or a key is missing. See the text in vw_Pending.'
            WHEN N'far side ended' THEN N'The target ended the dialog with these messages behind: the initiator''s activation resends them. Still here? Look in vw_Errors, then send them again.'
            WHEN N'busy' THEN N'The target queue is locked, by maintenance say: it is tried again.'
            WHEN N'not tried' THEN N'No attempt yet. If it stays so, the broker is off or the database is in single-user mode.'
            ELSE N'See the text in vw_Pending.' END,
        CASE p.StatusKind
            WHEN N'queue off' THEN N'EXECUTE [logging].[usp_StartQueue] @reason = N''usp_Health: queue off'', @WhatIf = 0;'
            WHEN N'far side ended' THEN N'EXECUTE [logging].[usp_Resend] @reason = N''usp_Health: far side ended'', @WhatIf = 0;'
            END
    FROM [logging].[vw_Pending] AS p
    GROUP BY p.ToService, p.StatusKind;

    /* Dialogs whose resend activation has left to an operator. */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'resend too large for activation', d.Handle, N'more than 100000 messages',
        N'It has failed or ended, and its messages wait for you. vw_Errors says why. See to room in the log (three times their bytes) before you send them again.',
        CONCAT(N'EXECUTE [logging].[usp_Resend] @handle = ''', d.Handle, N''', @most = 2000000000, @reason = N''usp_Health: too large for activation'', @WhatIf = 0;')
    FROM (SELECT TOP (100) ce.conversation_handle AS Handle, ce.conversation_id AS ConversationId
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator' AND ce.is_initiator = 1 AND ce.state IN ('DI', 'ER')) AS d
    CROSS APPLY (SELECT COUNT(*) AS Messages
                 FROM (SELECT TOP (100001) sm.MessageSequence
                       FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                       WHERE sm.ConversationId = d.ConversationId) AS q) AS n
    WHERE n.Messages > 100000;

    /* Messages that have not landed, dialog by dialog, each by its oldest: one seek a dialog. */
    WHILE @dialogs < 10000
    BEGIN
        SET @copies = 0;
        SELECT TOP (1) @copies = 1, @conversationId = sm.ConversationId, @sequence = sm.MessageSequence, @sentUtc = sm.SentUtc
        FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId > @conversationId
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @copies = 0
            BREAK;

        SELECT @dialogs = @dialogs + 1,
            @oldestUtc = CASE WHEN @oldestUtc < @sentUtc THEN @oldestUtc ELSE @sentUtc END;
        /* Its own retry comes first. */
        IF @sentUtc < DATEADD(second, -60, SYSUTCDATETIME())
        BEGIN
            /* Numbers of a dialog step by 1 (F-452): from first to last no more than so many, and no count. */
            SET @last = @sequence;
            SELECT TOP (1) @last = sm.MessageSequence
            FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId = @conversationId
            ORDER BY sm.MessageSequence DESC;
            INSERT INTO @old (ConversationId, Copies) VALUES (@conversationId, @last - @sequence + 1);
        END;
    END;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'messages of dialogs that are over', N'//redial/logging/initiator',
        CONCAT(COUNT(*), N' dialogs of ', CASE WHEN @dialogs >= 10000 THEN N'at least ' ELSE N'' END, @dialogs),
        CONCAT(N'Their dialogs were ended by hand, or what activation did with them failed (vw_Errors). Nothing is lost: send them again.',
            CASE WHEN MAX(o.Copies) > 100000 THEN N' Each dialog goes in one transaction: first see that there is room in the log for about three times the bytes of the largest one, and let it be a quiet hour.' END),
        CONCAT(N'EXECUTE [logging].[usp_Resend] ', CASE WHEN MAX(o.Copies) > 100000 THEN CONCAT(N'@most = ', MAX(o.Copies), N', ') END, N'@reason = N''usp_Health: dialogs that are over'', @WhatIf = 0;')
    FROM @old AS o
    /* HASH: one pass over the view, not one for each dialog (F-153). */
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS ce WITH (NOLOCK)
        ON ce.conversation_id = o.ConversationId AND ce.is_initiator = 1 AND ce.state IN ('SO', 'CO')
    WHERE ce.conversation_handle IS NULL
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN @oldestUtc < DATEADD(minute, -5, SYSUTCDATETIME()) THEN 50 ELSE 200 END, N'messages that have not landed', N'//redial/logging/target',
        CONCAT(N'in ', @dialogs, N' dialogs, oldest ', CONVERT(nvarchar(19), @oldestUtc, 120), N' UTC'),
        N'On their way: see vw_Unlanded. Older than minutes? Look at the queues and readers. A dialog whose target was ended WITH CLEANUP says nothing before its next message: usp_EndLeaked gives it up once it is closing, usp_Resend with its @handle at once.', NULL
    WHERE @dialogs > 0;

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthQueues]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* A part of usp_Health: are the queues on, read by whom they should be, and who is told when not? */
BEGIN
    DECLARE @missing int = 2 - (SELECT COUNT(*) FROM [logging].[ufn_Queues]());

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'queue off', q.QueueName, NULL,
        N'Messages wait; nothing is lost. Five rollbacks in a row switch a queue off: look in vw_Errors first and mend the cause (a full disk, say), then start it.',
        CONCAT(N'EXECUTE [logging].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: queue off'', @WhatIf = 0;')
    FROM [logging].[ufn_Queues]() AS q
    WHERE q.IsReceiveEnabled = 0
       OR q.IsEnqueueEnabled = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'activation off', q.QueueName, NULL, N'Nobody reads the queue. Somebody switched its activation off: ask why, then start it.',
        CONCAT(N'EXECUTE [logging].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: activation off'', @WhatIf = 0;')
    FROM [logging].[ufn_Queues]() AS q
    WHERE q.IsActivationEnabled = 0
       OR q.ActivationProcedure IS NULL;

    /* Tried again every five seconds, with a line in the server's error log each time (F-255). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN 1 ELSE 10 END, N'other activation procedure', q.QueueName,
        LEFT(CONCAT(q.ActivationProcedure, CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN N' (missing)' ELSE N'' END,
            N' as ', ISNULL(USER_NAME(sq.execute_as_principal_id), N'somebody else')), 100),
        N'Expected: [logging].[usp_SenderActivation] and [logging].[usp_TargetActivation], as [logging_module]. Starting the queue sets both; then look in the server''s error log for lines 9724.',
        CONCAT(N'EXECUTE [logging].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: other activation procedure'', @WhatIf = 0;')
    FROM [logging].[ufn_Queues]() AS q
    INNER JOIN sys.service_queues AS sq ON sq.object_id = OBJECT_ID(CONCAT(N'[logging]', N'.', QUOTENAME(q.QueueName)), N'SQ')
    WHERE q.ActivationProcedure IS NOT NULL
      AND (ISNULL(OBJECT_ID(q.ActivationProcedure), 0) <> ISNULL(OBJECT_ID(CASE WHEN q.Side = N'target' THEN N'[logging].[usp_TargetActivation]' ELSE N'[logging].[usp_SenderActivation]' END, N'P'), -1)
           OR ISNULL(sq.execute_as_principal_id, 0) <> DATABASE_PRINCIPAL_ID(N'logging_module'));

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'queue differs from configuration', q.QueueName,
        CONCAT(q.MaxReaders, N' readers, retention ', q.IsRetentionEnabled, N', poison handling ', q.IsPoisonMessageHandlingEnabled),
        N'Expected: 1 readers of the initiator''s queue, 1 of the target''s, retention 0 (it lets the queue grow as long as dialogs live), poison handling 1 (else a fault spins). Starting the queue sets them; or change the configuration.',
        CONCAT(N'EXECUTE [logging].[usp_StartQueue] @queue = N''', REPLACE(q.QueueName, N'''', N''''''), N''', @reason = N''usp_Health: queue differs from configuration'', @WhatIf = 0;')
    FROM [logging].[ufn_Queues]() AS q
    WHERE q.MaxReaders <> CASE WHEN q.Side = N'target' THEN 1 ELSE 1 END
       OR q.IsRetentionEnabled = 1
       OR q.IsPoisonMessageHandlingEnabled <> CASE WHEN q.Side = N'target' THEN 1 ELSE 1 END;

    IF @missing > 0
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (1, N'queue missing', NULL, NULL, N'A queue is not in this database, or the module user may not see it: whoever deploys does so again.', NULL);

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN q.Messages IS NULL THEN 150 WHEN q.Messages > 100000 THEN 50 ELSE 200 END,
        CASE WHEN q.Messages IS NULL THEN N'not looked at' ELSE N'messages in a queue' END, q.QueueName, CONCAT(N'about ', q.Messages),
        CASE WHEN q.Messages IS NULL THEN N'How long it is: sys.internal_tables does not show the module user the table of its queue (F-172). A member of db_owner sees it there and in sys.partitions.'
             WHEN q.Messages > 100000 THEN N'Readers do not keep up, or none runs: see the readers below, and docs/runbook/backlog.md. One conversation feeds one reader only.'
             ELSE N'From sys.partitions, without reading the queue.' END, NULL
    FROM [logging].[ufn_Queues]() AS q;

    RETURN;
END;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_CheckHealth]
    @failAt tinyint = 10,               /* 1 to 199: fail for this priority number or a lower one */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Result set: the findings it fails for and those named 'not looked at', with the columns of usp_Health.
   Returns 0, or raises 50290, which names the first five. Prints what was not looked at: a job's history
   keeps it. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @found TABLE
    (
        FoundId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Priority tinyint NOT NULL,
        Finding nvarchar(60) NOT NULL,
        ObjectName nvarchar(300) NULL,
        Figure nvarchar(100) NULL,
        Advice nvarchar(1000) NOT NULL,
        Statement nvarchar(1000) NULL
    );
    DECLARE @id int = 0;
    DECLARE @count int = 0;
    DECLARE @message nvarchar(2048);

    IF @Help = 1
    BEGIN
        PRINT N'usp_CheckHealth is usp_Health for a job: it fails (50290) when something is wrong, so that a SQL Server
Agent job fails and tells its operator. It changes nothing. What could not be looked at is shown and
printed, whatever its priority number: silence would look like health.
  @failAt  1 to 199, 10 by default: fail for findings of this priority number or a lower one
Example: EXECUTE [logging].[usp_CheckHealth] @failAt = 50;';
        RETURN 0;
    END;

    IF ISNULL(@failAt, 0) NOT BETWEEN 1 AND 199
        THROW 50291, N'@failAt must be 1 to 199.', 1;

    /* As the caller, who may see more of the server than a user of one database. */
    EXECUTE AS CALLER;
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    EXECUTE [logging].[usp_Health];
    REVERT;

    DELETE FROM @found WHERE Priority > @failAt AND Finding <> N'not looked at';
    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice, f.Statement
    FROM @found AS f
    ORDER BY f.FoundId;

    WHILE EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id AND f.Finding = N'not looked at')
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @message = CONCAT(N'Not looked at: ', f.ObjectName, N'. ', f.Advice)
        FROM @found AS f
        WHERE f.FoundId > @id
          AND f.Finding = N'not looked at'
        ORDER BY f.FoundId;
        PRINT @message;
    END;
    SET @id = 0;
    DELETE FROM @found WHERE Priority > @failAt;

    SET @message = N'Configuration logging: ';
    WHILE @count < 5 AND EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id)
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @count = @count + 1,
            @message = LEFT(CONCAT(@message, f.Finding, N', ' + f.ObjectName, N' (' + f.Figure + N')', N'. '), 1900)
        FROM @found AS f
        WHERE f.FoundId > @id
        ORDER BY f.FoundId;
    END;
    IF @count = 0
        RETURN 0;

    SET @message = REPLACE(CONCAT(@message, N'What to do: EXECUTE [logging].[usp_Health];'), N'%', N'%%');   /* F-133 */
    THROW 50290, @message, 1;
END;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_Health]
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each part */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* For an operator: what is wrong, how much of it, and what to do. Changes nothing, waits for nobody,
   reads no message body and counts no queue by scanning it (F-170). A part that fails (a table, an index,
   a view or a right is missing) is told as such, and the others answer all the same.
   Result set: Priority tinyint (1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know,
   200 figures), Finding nvarchar(60), Object nvarchar(300), Figure nvarchar(100), Advice nvarchar(1000),
   Statement nvarchar(1000): what an operator can run about it.
   Returns the lowest priority number found, 200 when all is well. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a part that fails is told, below */
    SET ROWCOUNT 0;                     /* a caller's would cut the report (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @parts TABLE (PartId int NOT NULL PRIMARY KEY, Part nvarchar(60) NOT NULL, Query nvarchar(max) NOT NULL, IsOfServer bit NOT NULL);
    DECLARE @part int = 0;
    DECLARE @name nvarchar(60);
    DECLARE @query nvarchar(max);
    DECLARE @isOfServer bit;
    DECLARE @database int = DB_ID();
    DECLARE @blind bit = 0;
    DECLARE @worst int;

    IF @Help = 1
    BEGIN
        PRINT N'usp_Health says what is wrong with configuration logging, how much of it, and what to do.
It changes nothing. Priority: 1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know, 200 figures.
  @Debug  1: print each part
Column Statement: what a member of logging_operator can run about it. Each such procedure has @Help = 1.
Queue monitors and running readers are shown to callers with VIEW SERVER STATE (from 2022 VIEW SERVER
PERFORMANCE STATE) only; it says so otherwise.
Example: EXECUTE [logging].[usp_Health];';
        RETURN 0;
    END;

    /* Not table variables: each part is a batch of its own, so that what it lacks fails there. */
    CREATE TABLE #found
    (
        Priority tinyint NOT NULL,
        Finding nvarchar(60) COLLATE DATABASE_DEFAULT NOT NULL,
        ObjectName nvarchar(300) COLLATE DATABASE_DEFAULT NULL,
        Figure nvarchar(100) COLLATE DATABASE_DEFAULT NULL,
        Advice nvarchar(1000) COLLATE DATABASE_DEFAULT NOT NULL,
        Statement nvarchar(1000) COLLATE DATABASE_DEFAULT NULL
    );
    CREATE TABLE #queues
    (
        QueueId int NOT NULL PRIMARY KEY,
        QueueName nvarchar(128) COLLATE DATABASE_DEFAULT NOT NULL,
        Messages bigint NULL,
        MaxReaders smallint NULL,
        IsActive bit NOT NULL
    );

    INSERT INTO @parts (PartId, Part, Query, IsOfServer)
    VALUES
        (1, N'database, rights, gate, version', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [logging].[ufn_HealthBroker]() AS f;', 0),
        (2, N'queues', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [logging].[ufn_HealthQueues]() AS f;', 0),
        (3, N'messages on their way', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [logging].[ufn_HealthPending]() AS f;', 0),
        (4, N'conversations', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [logging].[ufn_HealthConversations]() AS f;', 0),
        (5, N'dead letters, errors, growth', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [logging].[ufn_HealthData]() AS f;', 0),
        (6, N'list of the queues', N'INSERT INTO #queues (QueueId, QueueName, Messages, MaxReaders, IsActive)
SELECT OBJECT_ID(CONCAT(N''[logging]'', N''.'', QUOTENAME(q.QueueName)), N''SQ''), q.QueueName, q.Messages, q.MaxReaders,
    CASE WHEN q.IsActivationEnabled = 1 AND q.IsReceiveEnabled = 1 THEN 1 ELSE 0 END
FROM [logging].[ufn_Queues]() AS q;', 0),
        (7, N'pages of the queues', N'/* No page holds less than one row: far more pages than messages are ghosts or empty (F-501). */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 50, N''queue out of order'', q.QueueName, CONCAT(p.Pages, N'' pages, '', CONVERT(int, p.FragmentationPercent), N'' % out of order''),
    N''After a long backlog: RECEIVE reads many pages for each message. Putting it in order takes the queue while it works: see docs/runbook/backlog.md.'',
    CONCAT(N''EXECUTE [logging].[usp_ReorganizeQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: queue out of order'''', @WhatIf = 0;'')
FROM [logging].[ufn_QueuePages]() AS p
INNER JOIN #queues AS q ON q.QueueName = p.QueueName
WHERE p.Pages > 1000 AND (p.Pages > 2 * q.Messages OR p.FragmentationPercent > 50);', 0),
        (8, N'queue monitors', N'/* A reader that ended without RECEIVE leaves the monitor waiting for one: nothing is started any more, and
   changing the procedure does not help (F-255). */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 1, N''activation stuck'', q.QueueName, CONCAT(m.state, N'', about '', q.Messages, N'' messages''),
    N''A reader ended without RECEIVE. Mend it, then switch activation off and on.'',
    CONCAT(N''EXECUTE [logging].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: activation stuck'''', @WhatIf = 0;'')
FROM #queues AS q
INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = @database
WHERE m.state = N''NOTIFIED''
  AND ISNULL(q.Messages, 1) > 0
  AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.queue_id = q.QueueId AND t.database_id = @database);

INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 1, N''no queue monitor'', q.QueueName, NULL,
    N''Activation is on, and nothing watches the queue: the broker of this database is off, or it was just started.'', NULL
FROM #queues AS q
WHERE q.IsActive = 1
  AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_queue_monitors AS m WHERE m.queue_id = q.QueueId AND m.database_id = @database);', 1),
        (9, N'readers', N'/* A reader that is there and has not come to its RECEIVE: blocked, as a rule. Of several the one that was
   started last: the others have come to theirs, or it would not have been started. Both times are the
   server''s local ones. */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 10, N''reader without RECEIVE'', q.QueueName, CONCAT(N''session '', r.Session, N'', '', DATEDIFF(second, r.StartedAt, GETDATE()), N'' s''),
    N''It was started, and the queue monitor waits for its RECEIVE (state NOTIFIED). Who blocks it: sys.dm_exec_requests, blocking_session_id of that session. If it stays so when that one has ended, switch activation off and on.'',
    CONCAT(N''EXECUTE [logging].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: reader without RECEIVE'''', @WhatIf = 0;'')
FROM #queues AS q
INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = @database
CROSS APPLY (SELECT TOP (1) t.spid AS Session, es.login_time AS StartedAt
             FROM sys.dm_broker_activated_tasks AS t
             INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = t.spid
             WHERE t.queue_id = q.QueueId AND t.database_id = @database
             ORDER BY es.login_time DESC) AS r
WHERE m.state = N''NOTIFIED''
  AND r.StartedAt < DATEADD(second, -60, GETDATE());

INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT CASE WHEN r.Running >= q.MaxReaders AND q.Messages > 10000 THEN 50 ELSE 200 END,
    N''readers running'', q.QueueName, CONCAT(r.Running, N'' of '', q.MaxReaders),
    N''At most one more is started every five seconds. All at work and the queue grows: more readers help if there are more conversations.'', NULL
FROM #queues AS q
CROSS APPLY (SELECT COUNT(*) AS Running FROM sys.dm_broker_activated_tasks AS t
             WHERE t.queue_id = q.QueueId AND t.database_id = @database) AS r;', 1),
        (10, N'Agent jobs', N'/* An Agent that stands tells nobody: when each job ran last, in the server''s local time (page sysjobservers). Late
   is an hour, or two of its turns. The health job fails on purpose. */
IF ISNULL(HAS_PERMS_BY_NAME(N''msdb.dbo.sysjobs'', N''OBJECT'', N''SELECT''), 0) = 0
   OR ISNULL(HAS_PERMS_BY_NAME(N''msdb.dbo.sysjobservers'', N''OBJECT'', N''SELECT''), 0) = 0
    INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 150, N''not looked at'', N''Agent jobs'', NULL, N''No Agent here, or no right to read msdb, so whether the jobs run cannot be seen. A sysadmin runs this report, or looks at their history.'', NULL;
ELSE
    INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, CASE WHEN l.IsLate = 1 THEN N''job does not run'' ELSE N''job failed'' END, j.name, CONCAT(N''last run '', ISNULL(CONVERT(nvarchar(19), r.LastRun, 120), N''never''), CASE j.enabled WHEN 0 THEN N'', disabled'' ELSE N'''' END),
        CASE WHEN l.IsLate = 1 THEN N''SQL Server Agent stands, or the job is disabled or has no schedule. A sysadmin starts it.'' ELSE N''A sysadmin looks at its history: the message says why.'' END, NULL
    FROM (VALUES (N''resend stranded'', 60), (N''health'', 60), (N''purge landing'', 2880), (N''purge poison'', 2880), (N''purge logs'', 2880), (N''purge dead letters'', 2880)) AS t(Task, LateMinutes)
    INNER JOIN msdb.dbo.sysjobs AS j ON j.name COLLATE DATABASE_DEFAULT = LEFT(CONCAT(N''Redial logging: '', t.Task, N'', '', DB_NAME()), 128)
    LEFT OUTER JOIN msdb.dbo.sysjobservers AS js ON js.job_id = j.job_id
    CROSS APPLY (SELECT DATEADD(second, js.last_run_time / 10000 * 3600 + js.last_run_time / 100 % 100 * 60 + js.last_run_time % 100,
                            CONVERT(datetime2(0), CONVERT(nvarchar(8), NULLIF(js.last_run_date, 0)))) AS LastRun) AS r
    CROSS APPLY (SELECT CASE WHEN ISNULL(r.LastRun, j.date_created) < DATEADD(minute, -t.LateMinutes, GETDATE()) THEN 1 ELSE 0 END AS IsLate) AS l
    WHERE l.IsLate = 1 OR (js.last_run_outcome = 0 AND r.LastRun IS NOT NULL AND t.Task <> N''health'');', 1);

    /* What only the server knows is asked as the caller: a user of one database is nobody to the server (F-240). */
    EXECUTE AS CALLER;
    IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0) = 0
       AND ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE'), 0) = 0    /* from 2022; NULL before */
        SET @blind = 1;
    REVERT;
    IF @blind = 1
    BEGIN
        DELETE FROM @parts WHERE PartId IN (8, 9);
        INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (150, N'not looked at', N'queue monitors, running readers', NULL,
            N'The caller has neither VIEW SERVER STATE nor, from 2022 on, VIEW SERVER PERFORMANCE STATE, so whether activation is stuck (state NOTIFIED) cannot be seen. An administrator grants one of them to a login that calls usp_Health. A job that runs as a user of this database, as ours do, never has one.');
    END;

    WHILE EXISTS (SELECT 1 FROM @parts AS p WHERE p.PartId > @part)
    BEGIN
        SELECT TOP (1) @part = p.PartId, @name = p.Part, @query = p.Query, @isOfServer = p.IsOfServer
        FROM @parts AS p
        WHERE p.PartId > @part
        ORDER BY p.PartId;

        BEGIN TRY
            IF @isOfServer = 1
                EXECUTE AS CALLER;
            EXECUTE sys.sp_executesql @query, N'@database int', @database = @database;
            IF @isOfServer = 1
                REVERT;
        END TRY
        BEGIN CATCH
            IF @isOfServer = 1
                REVERT;
            IF XACT_STATE() = -1
                THROW;                  /* in a caller's transaction that can only be rolled back */
            INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice)
            VALUES (50, N'not looked at', @name, CONCAT(N'error ', ERROR_NUMBER()),
                LEFT(CONCAT(N'This part of the report failed: ', ERROR_MESSAGE(), N' If something of ours is missing, whoever deploys does so again.'), 1000));
        END CATCH;
        IF @Debug = 1
            PRINT CONCAT(@name, N': done.');
    END;

    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice, f.Statement
    FROM #found AS f
    ORDER BY f.Priority, f.Finding, f.ObjectName;

    SELECT @worst = MIN(f.Priority) FROM #found AS f;
    RETURN ISNULL(@worst, 200);
END;
GO
/* Nothing is signed. What an earlier deployment with security.signing = "certificate" made is dropped. */
SET XACT_ABORT ON;

DECLARE @signer sysname = NULL;

BEGIN TRANSACTION;

DECLARE @oldSigner sysname;
DECLARE @dropSigner nvarchar(max);
/* Asked anew each time, no cursor: outside a transaction each DROP commits, and CURSOR_CLOSE_ON_COMMIT
   may be on (F-372). */
WHILE 1 = 1
BEGIN
    SET @oldSigner = NULL;
    SELECT TOP (1) @oldSigner = ct.name
    FROM sys.certificates AS ct
    WHERE LEFT(ct.name, LEN(N'redial_logging_signing_')) = N'redial_logging_signing_'
      AND LEN(ct.name) = LEN(N'redial_logging_signing_') + 36   /* a GUID behind it: no other configuration's */
      AND ct.name <> ISNULL(@signer, N'')
    ORDER BY ct.name;
    IF @oldSigner IS NULL
        BREAK;

    SET @dropSigner = NULL;
    SELECT TOP (1) @dropSigner = CONCAT(N'DROP SIGNATURE FROM ', QUOTENAME(OBJECT_SCHEMA_NAME(cp.major_id)),
        N'.', QUOTENAME(OBJECT_NAME(cp.major_id)), N' BY CERTIFICATE ', QUOTENAME(@oldSigner), N';')
    FROM sys.crypt_properties AS cp
    INNER JOIN sys.certificates AS ct ON ct.thumbprint = cp.thumbprint
    WHERE ct.name = @oldSigner AND cp.class = 1;

    IF @dropSigner IS NULL
    BEGIN
        IF DATABASE_PRINCIPAL_ID(@oldSigner) IS NOT NULL
            SET @dropSigner = CONCAT(N'ALTER ROLE [db_owner] DROP MEMBER ', QUOTENAME(@oldSigner),
                N'; DROP USER ', QUOTENAME(@oldSigner), N'; ');
        SET @dropSigner = CONCAT(@dropSigner, N'DROP CERTIFICATE ', QUOTENAME(@oldSigner), N';');
    END;

    EXECUTE sys.sp_executesql @dropSigner;
END;

COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER VIEW [logging].[vw_Conversations]
AS
/* Redial 0.1.0, configuration logging */
/* Both sides of every conversation of this configuration; columns: see ufn_Conversations. */
SELECT
    f.Side, f.ConversationHandle, f.ConversationId, f.State, f.Purpose, f.ConversationKey, f.BegunUtc,
    f.AgeSeconds, f.EndOfStreamUtc, f.Sent, f.Received, f.TimerDue, f.LifetimeUtc, f.ClosedUntilUtc, f.Priority
FROM [logging].[ufn_Conversations]() AS f;
GO
CREATE OR ALTER VIEW [logging].[vw_Errors]
AS
/* Redial 0.1.0, configuration logging */
/* What went wrong, from every table that says so; order it by HappenedUtc yourself. NOLOCK: whoever
   watches must not wait for a reader that is just writing an error down.
   Source: error (ErrorLog), poison (a row that made its transaction roll back), dead letter (without
   its body). Dialogs that ended with an Error message: vw_FailedConversations. */
SELECT
    el.AddedUtc AS HappenedUtc, N'error' AS Source, el.ProcedureName AS ObjectName, el.ConversationHandle,
    el.MessageSequence, el.ErrorNumber AS Code, el.ErrorMessage AS ErrorText
FROM [logging].[ErrorLog] AS el WITH (NOLOCK)
UNION ALL
SELECT
    pa.LastUtc, N'poison', pa.MessageType, pa.ConversationHandle, pa.MessageSequence, pa.ErrorNumber,
    CONCAT(pa.Attempts, N' rollback(s): ', pa.ErrorMessage)
FROM [logging].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.Attempts > 0   /* 0: the mark of a batch in a hook (F-163) */
UNION ALL
SELECT
    dl.AddedUtc, N'dead letter', dl.MessageType, dl.ConversationHandle, dl.MessageSequence, dl.Code, dl.Reason
FROM [logging].[DeadLetter] AS dl WITH (NOLOCK);
GO
CREATE OR ALTER VIEW [logging].[vw_FailedConversations]
AS
/* Redial 0.1.0, configuration logging */
/* Dialogs that ended with an Error message; what was lost by it, if anything, is in DeadLetter too.
   Reads all of ConversationLog, a row for every dialog of the last [retention].log_days: not for a
   screen that asks every few seconds, vw_Errors is. There is no index for it on purpose: who reads by
   it under READ COMMITTED could deadlock with activation, which writes by the clustered key (F-127);
   and a filtered one would refuse senders with ANSI_WARNINGS or ANSI_PADDING OFF (1934). NOLOCK: as in
   vw_Errors. */
SELECT
    cl.EndedUtc, cl.Code, cl.Reason, cl.Handle AS ConversationHandle, cl.ConversationId, cl.ConversationKey,
    cl.BegunUtc, cl.Messages, cl.Resent, cl.DeadLettered
FROM [logging].[ConversationLog] AS cl WITH (NOLOCK)
WHERE cl.Code <> 0
  AND cl.EndedUtc IS NOT NULL;
GO
CREATE OR ALTER VIEW [logging].[vw_Pending]
AS
/* Redial 0.1.0, configuration logging */
/* Dialogs with messages that have not reached their queue, at most 10,000, and what the server says is in the way;
   see ufn_Pending. What has not landed for any reason: vw_Unlanded.
   StatusKind, by the server's texts (English, German ... servers give 'other'): not tried, queue off,
   busy, no service, no route, broker off, access, far side ended, other. */
SELECT
    f.ConversationHandle, f.MessageSequence, f.MessageType, f.IsEndOfDialog, f.IsError, f.EnqueuedUtc,
    f.WaitingSeconds, f.ToService,
    CASE WHEN ISNULL(f.TransmissionStatus, N'') = N'' THEN N'not tried'
         WHEN f.TransmissionStatus LIKE N'%queue%disabled%' THEN N'queue off'
         WHEN f.TransmissionStatus LIKE N'%busy%' THEN N'busy'
         WHEN f.TransmissionStatus LIKE N'%broker%disabled%' OR f.TransmissionStatus LIKE N'%broker is not enabled%' THEN N'broker off'
         WHEN f.TransmissionStatus LIKE N'%no service by that name%' OR f.TransmissionStatus LIKE N'%could not find the target broker%' THEN N'no service'
         WHEN f.TransmissionStatus LIKE N'%route%' THEN N'no route'
         WHEN f.TransmissionStatus LIKE N'%security context%' OR f.TransmissionStatus LIKE N'%permission%'
             OR f.TransmissionStatus LIKE N'%master key%' OR f.TransmissionStatus LIKE N'%certificate%' THEN N'access'
         WHEN f.TransmissionStatus LIKE N'%end dialog%' OR f.TransmissionStatus LIKE N'%error message%' THEN N'far side ended'
         ELSE N'other' END AS StatusKind,
    f.TransmissionStatus,
    CONVERT(nvarchar(200), NULL) AS ConversationKey, CONVERT(bigint, NULL) AS KeySequence, CONVERT(uniqueidentifier, NULL) AS MessageId
FROM [logging].[ufn_Pending]() AS f;
GO
CREATE OR ALTER VIEW [logging].[vw_Queues]
AS
/* Redial 0.1.0, configuration logging */
/* The two queues of this configuration, without reading them; columns: see ufn_Queues. */
SELECT
    f.Side, f.QueueName, f.Messages, f.IsReceiveEnabled, f.IsEnqueueEnabled, f.IsActivationEnabled,
    f.ActivationProcedure, f.MaxReaders, f.IsRetentionEnabled, f.IsPoisonMessageHandlingEnabled
FROM [logging].[ufn_Queues]() AS f;
GO
/* operations.notify_queue_off is false: what an earlier choice made goes. */
DECLARE @property int;
SET XACT_ABORT ON;
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ') AND n.name = N'redial_logging_trouble')
    DROP EVENT NOTIFICATION [redial_logging_trouble] ON QUEUE [logging].[InitiatorQueue];
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ') AND n.name = N'redial_logging_trouble')
    DROP EVENT NOTIFICATION [redial_logging_trouble] ON QUEUE [logging].[TargetQueue];

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/logging/trouble')
                 AND ep.name = N'Redial.made')
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/logging/trouble')
                     AND ep.name = N'Redial.made')
    BEGIN
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
            @level0type = N'SERVICE', @level0name = N'redial/logging/trouble';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    DROP SERVICE [redial/logging/trouble];
    COMMIT TRANSACTION;
END;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[logging].[TroubleQueue]'))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
        @level0name = N'logging', @level1type = N'QUEUE', @level1name = N'TroubleQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    DROP QUEUE [logging].[TroubleQueue];
    COMMIT TRANSACTION;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'2a0f67b0db646fbc 4', @level0type = N'SCHEMA', @level0name = N'logging';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
