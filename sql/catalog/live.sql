/* What plan asks besides the catalog: who and what is at work. One batch, a result set for each question,
   whose name stands in the comment before it; redial/deploy/live.py reads the columns by name. Before this
   stands @schema, the configuration's schema.

   Nothing here waits for a lock of rows: NOLOCK, for other sessions' endpoints are locked while they work.
   Who may not see other sessions (VIEW SERVER STATE) gets no rows of them, and the plan says so. */
DECLARE @sees bit = ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0);

/* server */
SELECT ORIGINAL_LOGIN() AS login, CONVERT(nvarchar(36), d.service_broker_guid) AS broker, @sees AS sees,
    d.is_broker_enabled AS enabled,
    CONCAT(N'SQL Server ', CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion')), N', ',
        CONVERT(nvarchar(128), SERVERPROPERTY(N'Edition')), N', level ', d.compatibility_level) AS product
FROM sys.databases AS d
WHERE d.database_id = DB_ID();

/* dialogs */
SELECT ce.state_desc AS name, COUNT_BIG(*) AS counted
FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
INNER JOIN sys.services AS s ON s.service_id = ce.service_id
INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
WHERE q.schema_id = SCHEMA_ID(@schema)
GROUP BY ce.state_desc;

/* contracts */
SELECT sc.name, COUNT_BIG(*) AS counted
FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
INNER JOIN sys.services AS s ON s.service_id = ce.service_id
INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = ce.service_contract_id
WHERE q.schema_id = SCHEMA_ID(@schema) AND ce.state <> 'CD'
GROUP BY sc.name;

/* services */
SELECT s.name, COUNT_BIG(*) AS counted
FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
INNER JOIN sys.services AS s ON s.service_id = ce.service_id
INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
WHERE q.schema_id = SCHEMA_ID(@schema) AND ce.state <> 'CD'
GROUP BY s.name;

/* pending */
SELECT CASE tq.transmission_status WHEN N'' THEN N'on the way' ELSE tq.transmission_status END AS name, COUNT_BIG(*) AS counted
FROM sys.transmission_queue AS tq WITH (NOLOCK)
INNER JOIN sys.services AS s ON s.name COLLATE Latin1_General_BIN2 = tq.from_service_name COLLATE Latin1_General_BIN2
INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
WHERE q.schema_id = SCHEMA_ID(@schema)
GROUP BY tq.transmission_status;

/* depth */
SELECT q.name, ISNULL(SUM(p.rows), 0) AS counted
FROM sys.service_queues AS q
INNER JOIN sys.internal_tables AS it ON it.parent_object_id = q.object_id
INNER JOIN sys.partitions AS p ON p.object_id = it.object_id AND p.index_id IN (0, 1)
WHERE q.schema_id = SCHEMA_ID(@schema) AND q.is_ms_shipped = 0
GROUP BY q.name;

/* rows */
SELECT t.name, ISNULL(SUM(p.rows), 0) AS counted
FROM sys.tables AS t
INNER JOIN sys.partitions AS p ON p.object_id = t.object_id AND p.index_id IN (0, 1)
WHERE t.schema_id = SCHEMA_ID(@schema)
GROUP BY t.name;

/* holders */
/* Open transactions with a lock on what is ours; a queue keeps its messages in an internal table (F-170). */
IF @sees = 1
    SELECT ISNULL(o.name, q.name) AS object, es.session_id, es.login_name, es.host_name, es.program_name,
        CASE WHEN EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS a WHERE a.spid = es.session_id) THEN 1 ELSE 0 END AS reader,
        DATEDIFF(second, (SELECT MIN(at.transaction_begin_time)
                          FROM sys.dm_tran_session_transactions AS st
                          INNER JOIN sys.dm_tran_active_transactions AS at ON at.transaction_id = st.transaction_id
                          WHERE st.session_id = es.session_id), GETDATE()) AS seconds
    FROM sys.dm_tran_locks AS tl
    INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = tl.request_session_id
    LEFT JOIN sys.objects AS o ON o.object_id = tl.resource_associated_entity_id AND o.schema_id = SCHEMA_ID(@schema)
    LEFT JOIN sys.internal_tables AS it ON it.object_id = tl.resource_associated_entity_id
    LEFT JOIN sys.service_queues AS q ON q.object_id = it.parent_object_id AND q.schema_id = SCHEMA_ID(@schema)
    WHERE tl.resource_database_id = DB_ID()
      AND tl.resource_type = N'OBJECT'
      AND tl.request_status = N'GRANT'
      AND tl.request_session_id <> @@SPID
      AND (o.object_id IS NOT NULL OR q.object_id IS NOT NULL);
ELSE
    SELECT N'' AS object WHERE 1 = 0;

/* others */
/* ENABLE_BROKER needs the database for itself: who would be waited for, or cut (F-101). */
IF @sees = 1
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0)
    SELECT N'' AS object, es.session_id, es.login_name, es.host_name, es.program_name, 0 AS reader,
        DATEDIFF(second, es.login_time, GETDATE()) AS seconds
    FROM sys.dm_exec_sessions AS es
    WHERE es.database_id = DB_ID() AND es.session_id <> @@SPID;
ELSE
    SELECT N'' AS object WHERE 1 = 0;
