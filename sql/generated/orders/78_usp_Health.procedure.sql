SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_Health]
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each part */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
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
        PRINT N'usp_Health says what is wrong with configuration orders, how much of it, and what to do.
It changes nothing. Priority: 1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know, 200 figures.
  @Debug  1: print each part
Column Statement: what a member of orders_operator can run about it. Each such procedure has @Help = 1.
Queue monitors and running readers are shown to callers with VIEW SERVER STATE (from 2022 VIEW SERVER
PERFORMANCE STATE) only; it says so otherwise.
Example: EXECUTE [orders].[usp_Health];';
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
        (1, N'database, rights, gate, version', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [orders].[ufn_HealthBroker]() AS f;', 0),
        (2, N'queues', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [orders].[ufn_HealthQueues]() AS f;', 0),
        (3, N'messages on their way', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [orders].[ufn_HealthPending]() AS f;', 0),
        (4, N'conversations', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [orders].[ufn_HealthConversations]() AS f;', 0),
        (5, N'dead letters, errors, growth', N'INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [orders].[ufn_HealthData]() AS f;', 0),
        (6, N'list of the queues', N'INSERT INTO #queues (QueueId, QueueName, Messages, MaxReaders, IsActive)
SELECT OBJECT_ID(CONCAT(N''[orders]'', N''.'', QUOTENAME(q.QueueName)), N''SQ''), q.QueueName, q.Messages, q.MaxReaders,
    CASE WHEN q.IsActivationEnabled = 1 AND q.IsReceiveEnabled = 1 THEN 1 ELSE 0 END
FROM [orders].[ufn_Queues]() AS q;', 0),
        (7, N'pages of the queues', N'/* No page holds less than one row: far more pages than messages are ghosts or empty (F-501). */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 50, N''queue out of order'', q.QueueName, CONCAT(p.Pages, N'' pages, '', CONVERT(int, p.FragmentationPercent), N'' % out of order''),
    N''After a long backlog: RECEIVE reads many pages for each message. Putting it in order takes the queue while it works: see docs/runbook/backlog.md.'',
    CONCAT(N''EXECUTE [orders].[usp_ReorganizeQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: queue out of order'''', @WhatIf = 0;'')
FROM [orders].[ufn_QueuePages]() AS p
INNER JOIN #queues AS q ON q.QueueName = p.QueueName
WHERE p.Pages > 1000 AND (p.Pages > 2 * q.Messages OR p.FragmentationPercent > 50);', 0),
        (8, N'queue monitors', N'/* A reader that ended without RECEIVE leaves the monitor waiting for one: nothing is started any more, and
   changing the procedure does not help (F-255). */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 1, N''activation stuck'', q.QueueName, CONCAT(m.state, N'', about '', q.Messages, N'' messages''),
    N''A reader ended without RECEIVE. Mend it, then switch activation off and on.'',
    CONCAT(N''EXECUTE [orders].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: activation stuck'''', @WhatIf = 0;'')
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
    CONCAT(N''EXECUTE [orders].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: reader without RECEIVE'''', @WhatIf = 0;'')
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
    FROM (VALUES (N''retire'', 60), (N''health'', 60), (N''purge poison'', 2880), (N''purge logs'', 2880)) AS t(Task, LateMinutes)
    INNER JOIN msdb.dbo.sysjobs AS j ON j.name COLLATE DATABASE_DEFAULT = LEFT(CONCAT(N''Redial orders: '', t.Task, N'', '', DB_NAME()), 128)
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
                LEFT(CONCAT(N'This part of the report failed: ', ERROR_MESSAGE(), N' If something of ours is missing, whoever deploys runs redial.sql again.'), 1000));
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
