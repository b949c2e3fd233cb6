SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_Health]
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each part */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* For an operator: what is wrong, how much of it, and what to do. Changes nothing, waits for nobody,
   reads no message body and counts no queue by scanning it (F-170).
   Result set: Priority tinyint (1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know,
   200 figures), Finding nvarchar(60), Object nvarchar(300), Figure nvarchar(100), Advice nvarchar(1000).
   Returns the lowest priority number found, 200 when all is well. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut the report (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @found TABLE
    (
        Priority tinyint NOT NULL,
        Finding nvarchar(60) NOT NULL,
        ObjectName nvarchar(300) NULL,
        Figure nvarchar(100) NULL,
        Advice nvarchar(1000) NOT NULL
    );
    DECLARE @queues TABLE
    (
        QueueId int NOT NULL PRIMARY KEY,
        QueueName nvarchar(128) NOT NULL,
        Messages bigint NULL,
        MaxReaders smallint NULL,
        IsActive bit NOT NULL
    );
    DECLARE @database int = DB_ID();
    DECLARE @worst int;

    IF @Help = 1
    BEGIN
        PRINT N'usp_Health says what is wrong with configuration audit, how much of it, and what to do.
It changes nothing. Priority: 1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know, 200 figures.
  @Debug  1: print each part
Queue monitors and running readers are shown to callers with VIEW SERVER STATE only; it says so otherwise.
Example: EXECUTE [audit].[usp_Health];';
        RETURN 0;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  What the module user can see                                                             */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice FROM [audit].[ufn_HealthBroker]() AS f;
    IF @Debug = 1
        PRINT N'Database, queues, rights: done.';

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice FROM [audit].[ufn_HealthConversations]() AS f;
    IF @Debug = 1
        PRINT N'Conversations: done.';

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice FROM [audit].[ufn_HealthData]() AS f;
    IF @Debug = 1
        PRINT N'Dead letters, errors, growth: done.';

    INSERT INTO @queues (QueueId, QueueName, Messages, MaxReaders, IsActive)
    SELECT OBJECT_ID(CONCAT(N'[audit]', N'.', QUOTENAME(q.QueueName)), N'SQ'), q.QueueName, q.Messages, q.MaxReaders,
        CASE WHEN q.IsActivationEnabled = 1 AND q.IsReceiveEnabled = 1 THEN 1 ELSE 0 END
    FROM [audit].[ufn_Queues]() AS q;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  What only the server knows: asked as the caller, since a user of one database is nobody   */
    /*    to the server (F-240)                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    EXECUTE AS CALLER;

    IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0) = 0
    BEGIN
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (150, N'not looked at', N'queue monitors, running readers', NULL,
            N'You have no VIEW SERVER STATE, so whether activation is stuck (state NOTIFIED) cannot be seen. GRANT VIEW SERVER STATE TO your login, or ask somebody who has it.');
    END
    ELSE
    BEGIN
        /* A reader that ended without RECEIVE leaves the monitor waiting for one: nothing is started
           any more, and changing the procedure does not help (F-255). */
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        SELECT 1, N'activation stuck', q.QueueName, CONCAT(m.state, N', about ', q.Messages, N' messages'),
            CONCAT(N'A reader ended without RECEIVE. Mend it, then ALTER QUEUE ', N'[audit]', N'.', QUOTENAME(q.QueueName),
                N' WITH ACTIVATION (STATUS = OFF); and the same with ON.')
        FROM @queues AS q
        INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = @database
        WHERE m.state = N'NOTIFIED'
          AND ISNULL(q.Messages, 1) > 0
          AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t
                          WHERE t.queue_id = q.QueueId AND t.database_id = @database);

        /* The same with a reader that is there and has not come to its RECEIVE: blocked, as a rule. Of
           several the one that was started last: the others have come to theirs, or it would not have
           been started. Both times are the server's local ones. */
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        SELECT 10, N'reader without RECEIVE', q.QueueName, CONCAT(N'session ', r.Session, N', ', DATEDIFF(second, r.StartedAt, GETDATE()), N' s'),
            CONCAT(N'It was started, and the queue monitor waits for its RECEIVE (state NOTIFIED). Who blocks it: sys.dm_exec_requests, blocking_session_id of that session. What the monitor does after a KILL is not documented: if it stays NOTIFIED, ALTER QUEUE ', N'[audit]', N'.', QUOTENAME(q.QueueName),
                N' WITH ACTIVATION (STATUS = OFF); and the same with ON.')
        FROM @queues AS q
        INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = @database
        CROSS APPLY (SELECT TOP (1) t.spid AS Session, es.login_time AS StartedAt
                     FROM sys.dm_broker_activated_tasks AS t
                     INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = t.spid
                     WHERE t.queue_id = q.QueueId AND t.database_id = @database
                     ORDER BY es.login_time DESC) AS r
        WHERE m.state = N'NOTIFIED'
          AND r.StartedAt < DATEADD(second, -60, GETDATE());

        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        SELECT 1, N'no queue monitor', q.QueueName, NULL,
            N'Activation is on, and nothing watches the queue: the broker of this database is off, or it was just started.'
        FROM @queues AS q
        WHERE q.IsActive = 1
          AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_queue_monitors AS m
                          WHERE m.queue_id = q.QueueId AND m.database_id = @database);

        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
        SELECT CASE WHEN r.Running >= q.MaxReaders AND q.Messages > 10000 THEN 50 ELSE 200 END,
            N'readers running', q.QueueName, CONCAT(r.Running, N' of ', q.MaxReaders),
            N'At most one more is started every five seconds. All at work and the queue grows: more readers help if there are more conversations.'
        FROM @queues AS q
        CROSS APPLY (SELECT COUNT(*) AS Running FROM sys.dm_broker_activated_tasks AS t
                     WHERE t.queue_id = q.QueueId AND t.database_id = @database) AS r;
    END;

    REVERT;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  The answer                                                                               */
    /* ----------------------------------------------------------------------------------------- */
    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice
    FROM @found AS f
    ORDER BY f.Priority, f.Finding, f.ObjectName;

    SELECT @worst = MIN(f.Priority) FROM @found AS f;
    RETURN ISNULL(@worst, 200);
END;
GO
