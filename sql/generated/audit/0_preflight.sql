/* Redial 0.1.0, configuration audit: 0_preflight.sql, asks whether it may, and makes what the others stand on.
   Run the files of this folder in the order of their names, each in the database they are for, outside a
   transaction, with whatever knows GO: sqlcmd (sqlcmd -b -i 0_preflight.sql,1_core.sql,..), SSMS and
   others. After an error mend its cause, and begin again with this file; what is there already stays as it is.
   Nothing is switched on or replaced before this file has passed.

   Words of the comments:
   dialog    a conversation of two services; each side has an endpoint in sys.conversation_endpoints
   R         a row of SessionConversations, and its lock: which dialog a key sends on
   G         the lock of a conversation group, which SEND, RECEIVE and END take; R comes before G
   gate      the row of Gate: closed, usp_Send refuses. A drain closes it and waits for every dialog to end
   copy      a row of SentMessage: a message that has not landed yet
   landed    the target has the message in Landing; dead letter: it has it, and could not process it
   poison    a message whose processing fails; stranded: copies of a dialog that is gone
   stamp     the line in each module that says which version made it; mark: the property Redial.made on
             what has no text. Nothing without one of them is ever altered or dropped
   F-nnn     a fact about SQL Server, with its source, in docs/facts.md; page: of Microsoft's documentation */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'0_preflight.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF APPLOCK_TEST(N'public', N'redial deploy audit', N'Exclusive', N'Session') = 0
    THROW 50229, N'A deployment of configuration audit is running. Nothing was done. Next: let it end, then run this file again.', 127;
DECLARE @property int;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
           WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.files', @level0type = N'SCHEMA', @level0name = N'audit';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* May this be installed here, and by you? Asked before anything is done, because a deployment that stops
   half-way is the harder thing to explain. Everything that is in the way is told in one error, each thing
   with what to do next. This batch is compiled alone and has only what SQL Server 2012 knows too, so an
   older server is refused by its version and not by its grammar. */
DECLARE @found TABLE
(
    Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    Number int NOT NULL,
    Problem nvarchar(1500) NOT NULL,
    NextStep nvarchar(1000) NOT NULL
);
DECLARE @open int = @@TRANCOUNT;        /* before a statement that counts itself */
DECLARE @here nvarchar(260) = QUOTENAME(DB_NAME());
DECLARE @me nvarchar(260) = QUOTENAME(USER_NAME());

/* -- 1  The server: 2016 SP1 (13.0.4001), for how our modules are made. Managed Instance, engine edition 8,
         calls itself version 12 and knows it (F-490). Azure SQL Database, 5, has no Service Broker ---- */
DECLARE @edition int = CONVERT(int, SERVERPROPERTY(N'EngineEdition'));
DECLARE @version nvarchar(128) = CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion'));
IF @edition NOT IN (2, 3, 4, 8)
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50222, CONCAT(N'Redial needs Service Broker, and this server is of engine edition ', @edition,
        CASE @edition WHEN 5 THEN N', Azure SQL Database, which has none.' ELSE N', which Redial is not made for.' END),
        N'use SQL Server 2016 SP1 or later, or Azure SQL Managed Instance.');
ELSE IF @edition <> 8
        AND (CONVERT(int, PARSENAME(@version, 4)) < 13
             OR (CONVERT(int, PARSENAME(@version, 4)) = 13 AND CONVERT(int, PARSENAME(@version, 2)) < 4001))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50222, CONCAT(N'This server is version ', @version, N'; needed is 13.0.4001, SQL Server 2016 SP1, or later.'),
        N'install a service pack of 2016 or a later version.');

/* -- 2  The database. Its row of sys.databases is visible to whoever is in it ------------------------- */
IF DB_ID() BETWEEN 1 AND 4
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50223, CONCAT(@here, N' is a system database.'), N'USE the database the messages belong to, and run it again.');

IF CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), N'Updateability')) <> N'READ_WRITE'
    INSERT INTO @found (Number, Problem, NextStep)
    SELECT 50223, CONCAT(@here, N' cannot be written to here: it is ',
            CASE WHEN d.group_database_id IS NOT NULL THEN N'a secondary replica of an availability group.'
                 WHEN d.is_in_standby = 1 THEN N'a standby for log shipping.' ELSE N'READ_ONLY.' END),
        CASE WHEN d.group_database_id IS NOT NULL THEN N'connect to the primary replica (the listener leads there).'
             WHEN d.is_in_standby = 1 THEN N'connect to the server it is restored from.'
             ELSE CONCAT(N'ALTER DATABASE ', @here, N' SET READ_WRITE;') END
    FROM sys.databases AS d
    WHERE d.database_id = DB_ID();

/* In single user mode there is no second session, and so no reader (F-491). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, N' is in single user mode, so no queue could be read beside you.'),
    CONCAT(N'ALTER DATABASE ', @here, N' SET MULTI_USER;')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.user_access = 1;

/* OPENJSON is there from level 130 on (its page). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, N' has compatibility level ', d.compatibility_level, N'; needed is 130 or more.'),
    CONCAT(N'try your application at 130; then ALTER DATABASE ', @here, N' SET COMPATIBILITY_LEVEL = 130;')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.compatibility_level < 130;

/* A restored or attached copy may have an owner this server does not know, or two: one in master, one in
   the database. Activation and EXECUTE AS then fail with 15517 or 33009 (F-492). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, CASE WHEN d.owner_sid IS NULL OR SUSER_SNAME(d.owner_sid) IS NULL
                                      THEN N' has an owner this server does not know'
                                 ELSE N' has one owner in sys.databases and another as user dbo' END,
        N', so activation and EXECUTE AS would fail.'),
    CONCAT(N'ALTER AUTHORIZATION ON DATABASE::', @here, N' TO [sa]; or to another login of this server.')
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND (d.owner_sid IS NULL
       OR SUSER_SNAME(d.owner_sid) IS NULL
       OR NOT EXISTS (SELECT 1 FROM sys.database_principals AS dp WHERE dp.name = N'dbo' AND dp.sid = d.owner_sid));

/* Committed is then not yet on disk, and a crash loses acknowledged messages (page Control transaction
   durability). ALLOWED leaves the choice to each COMMIT: ours make none. By a text of its own: 2012 has no such column, and would not compile this. */
DECLARE @forced bit = 0;
IF CONVERT(int, PARSENAME(@version, 4)) >= 12
    EXECUTE sys.sp_executesql N'SELECT @forced = 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.delayed_durability = 2;',
        N'@forced bit OUTPUT', @forced = @forced OUTPUT;
IF @forced = 1
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50223, CONCAT(@here, N' has DELAYED_DURABILITY = FORCED: a message that was committed could be lost when the server stops.'),
        CONCAT(N'ALTER DATABASE ', @here, N' SET DELAYED_DURABILITY = DISABLED; or ALLOWED, then a sender''s COMMIT WITH (DELAYED_DURABILITY = ON) is its own risk.'));

/* In a contained database names have a collation of their own, and ours are compared with rows (468; page
   Contained database collations). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, N' is a contained database of collation ', d.collation_name, N', and its catalog has another one: names and data could not be compared (468).'),
    CONCAT(N'ALTER DATABASE ', @here, N' SET CONTAINMENT = NONE; or use a database that is not contained.')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.containment = 1
  AND d.collation_name NOT IN (N'Latin1_General_100_CI_AS_WS_KS_SC', N'Latin1_General_100_CI_AS_KS_WS_SC');

/* A warning: it works while somebody is connected. usp_Health says so as well. */
IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_auto_close_on = 1)
    PRINT CONCAT(N'Warning: ', @here, N' has AUTO_CLOSE ON. It closes with its last session, and no reader starts until somebody comes. Next: ALTER DATABASE ', @here, N' SET AUTO_CLOSE OFF;');

/* ENABLE_BROKER is refused on an availability group (1468, F-483); 10_broker switches it on elsewhere. */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50224, CONCAT(N'Service Broker is off in ', @here, N', which is in an availability group, and the server refuses to switch it on there.'),
    CONCAT(N'on the primary replica ALTER AVAILABILITY GROUP its name REMOVE DATABASE ', @here, N'; then ALTER DATABASE ', @here,
        N' SET ENABLE_BROKER; then add the database to the group again, on the secondaries by a fresh restore or automatic seeding.')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND d.group_database_id IS NOT NULL AND @edition <> 8;

/* And beside its original, where the broker of both would have one identity (9772). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT TOP (1) 50224, CONCAT(N'Service Broker is off in ', @here, N' and on in ', QUOTENAME(o.name), N', which has the same broker identity: one is a copy of the other.'),
    CONCAT(N'if the conversations in ', @here, N' may go, ALTER DATABASE ', @here, N' SET NEW_BROKER; which ends them and tells nobody. If it takes the place of the other, ALTER DATABASE ',
        QUOTENAME(o.name), N' SET DISABLE_BROKER; first. Then deploy again.')
FROM sys.databases AS d
INNER JOIN sys.databases AS o ON o.service_broker_guid = d.service_broker_guid AND o.database_id <> d.database_id AND o.is_broker_enabled = 1
WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND @edition <> 8
ORDER BY o.name;

/* ALTER DATABASE is refused inside a transaction (226). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50224, CONCAT(N'Service Broker is off in ', @here, N', your session has a transaction open, and inside one the server refuses to switch it on.'),
    CONCAT(N'COMMIT; SET IMPLICIT_TRANSACTIONS OFF; and deploy again; or first, outside of a transaction, ALTER DATABASE ', @here, N' SET ENABLE_BROKER;')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND d.group_database_id IS NULL AND @edition <> 8
  AND (@open > 0 OR @@OPTIONS & 2 = 2);

/* ENABLE_BROKER needs the database for itself (F-101), and NO_WAIT gives up at once: who is in the way? Who
   may not see other sessions (VIEW SERVER STATE) gets the server's own refusal, from 10_broker. Up to five.
   The server's own sessions are no users, those that activation starts among them. */
IF @edition <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND d.group_database_id IS NULL)
   AND EXISTS (SELECT 1 FROM sys.dm_exec_sessions AS s WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1)
BEGIN
    DECLARE @sessions nvarchar(1200) = N'';
    DECLARE @session int = 0;
    DECLARE @told int = 0;
    WHILE @told < 5
          AND EXISTS (SELECT 1 FROM sys.dm_exec_sessions AS s WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1 AND s.session_id > @session)
    BEGIN
        SELECT TOP (1) @session = s.session_id,
            @sessions = CONCAT(@sessions, CASE @sessions WHEN N'' THEN N'' ELSE N'; ' END, N'session ', s.session_id, N', login ', LEFT(s.login_name, 60),
                N', host ', LEFT(ISNULL(s.host_name, N'unknown'), 40), N', program ', LEFT(ISNULL(s.program_name, N'unknown'), 60),
                N', since ', CONVERT(nvarchar(19), s.login_time, 120))
        FROM sys.dm_exec_sessions AS s
        WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1 AND s.session_id > @session
        ORDER BY s.session_id;
        SET @told = @told + 1;
    END;
    INSERT INTO @found (Number, Problem, NextStep)
    SELECT 50226, CONCAT(N'Service Broker is off, and switching it on needs ', @here, N' for itself, but ', COUNT(*), N' other sessions are in it: ', @sessions, N'.'),
        N'let them end and deploy again, in a quiet hour; or say how else in database.enable_broker: wait for them (new ones then queue), or immediate, which cuts them off.'
    FROM sys.dm_exec_sessions AS s
    WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1;
END;

/* -- 3  Rights. CONTROL covers all the rest: CREATE for every kind of object, EXECUTE AS another user,
         GRANT, ALTER DATABASE. Membership of a fixed role is changed by its members only (ALTER ROLE page) - */
DECLARE @missing nvarchar(1000) = N'';
DECLARE @sees int = ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CONTROL'), 0);   /* else marks and rows of ours are hidden, and nothing is judged by them */
IF @sees = 0
BEGIN
    SELECT @missing = N'CONTROL on the database';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE SCHEMA'), 0) = 0 SET @missing = @missing + N', CREATE SCHEMA';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE TABLE'), 0) = 0 SET @missing = @missing + N', CREATE TABLE';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE PROCEDURE'), 0) = 0 SET @missing = @missing + N', CREATE PROCEDURE';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE QUEUE'), 0) = 0 SET @missing = @missing + N', CREATE QUEUE';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE SERVICE'), 0) = 0 SET @missing = @missing + N', CREATE SERVICE';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE CONTRACT'), 0) = 0 SET @missing = @missing + N', CREATE CONTRACT';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE MESSAGE TYPE'), 0) = 0 SET @missing = @missing + N', CREATE MESSAGE TYPE';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'CREATE ROLE'), 0) = 0 SET @missing = @missing + N', CREATE ROLE';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'ALTER ANY USER'), 0) = 0 SET @missing = @missing + N', ALTER ANY USER';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N'DATABASE', N'ALTER ANY SCHEMA'), 0) = 0 SET @missing = @missing + N', ALTER ANY SCHEMA';
END
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND ISNULL(IS_ROLEMEMBER(N'db_owner', N'audit_module'), 0) = 1
    SET @missing = N'membership in db_owner (only members change that role, and this configuration takes its module user out of it)';
IF @missing <> N''
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50200, CONCAT(N'User ', @me, N' of database ', @here, N' cannot deploy configuration audit. Missing: ', @missing, N'.'),
        CONCAT(N'have a member of db_owner deploy, or let one run ALTER ROLE [db_owner] ADD MEMBER ', @me, N';'));

/* -- 4  Principals that are there already must be of the kind we would make. A type_desc has a collation of
         its own, and two in one concatenation are refused before anything runs (468) ------------------- */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50202, CONCAT(N'[roles].', k.ConfigKey, N' ', QUOTENAME(dp.name), N' is a ',
        LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')), CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END,
        CASE k.ConfigKey WHEN N'module' THEN N' somebody can log in as or nobody can run as; allowed: a new name, or a user without login.'
                         ELSE N'; allowed: a new name, or a database role of yours.' END),
    N'change the name in the configuration, render, deploy.'
FROM (VALUES (N'module', N'audit_module'), (N'sender', N'audit_sender'),
             (N'operator', N'audit_operator'), (N'reader', N'audit_reader')) AS k(ConfigKey, Name)
INNER JOIN sys.database_principals AS dp ON dp.name = k.Name
WHERE (k.ConfigKey = N'module' AND NOT (dp.type = 'S' AND dp.authentication_type = 0 AND dp.principal_id > 4))
   OR (k.ConfigKey <> N'module' AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0));

/* One principal for each configuration: an owner of two could end the conversations of both. */
INSERT INTO @found (Number, Problem, NextStep)
SELECT TOP (1) 50203, CONCAT(N'[roles].module ', QUOTENAME(dp.name), N' owns schema ', QUOTENAME(s.name),
        N' as well, so the procedures of this configuration could change what is in it.'),
    N'another name for [roles].module, render, deploy.'
FROM sys.database_principals AS dp
INNER JOIN sys.schemas AS s ON s.principal_id = dp.principal_id
WHERE dp.name = N'audit_module'
  AND s.schema_id <> ISNULL(SCHEMA_ID(N'audit'), -1)
ORDER BY s.schema_id;

/* -- 6  Is a name we need somebody else's? A schema that was there before, dbo say, may hold a table, view,
         procedure or type of an application: a module's script would replace it, a table's would take it
         for ours, and a later purge would drop it. Names of every choice are asked for: one may change --- */
DECLARE @foreign TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Shown nvarchar(400) NOT NULL);
DECLARE @names nvarchar(1200) = N'';
DECLARE @foreigners int;
DECLARE @next int = 1;
DECLARE @replaced nvarchar(4000);       /* modules a deployment may replace, a comma around each */
IF CONVERT(int, PARSENAME(@version, 4)) >= 13 OR @edition = 8
    EXECUTE sys.sp_executesql       /* by a text: an older server does not know the function (195) */
        N'SET @said = CONVERT(nvarchar(4000), SESSION_CONTEXT(N''redial.replaced''));',
        N'@said nvarchar(4000) OUTPUT', @said = @replaced OUTPUT;
INSERT INTO @foreign (Shown)
SELECT CONCAT(LOWER(REPLACE(o.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')), N' ',
    N'[audit].', QUOTENAME(o.name))
FROM (VALUES
    (N'TABLE', N'ConversationLog'), (N'TABLE', N'DeadLetter'), (N'TABLE', N'DeploymentAttempt'),
    (N'TABLE', N'DeploymentHistory'), (N'TABLE', N'DeploymentText'), (N'TABLE', N'ErrorLog'),
    (N'TABLE', N'Everlasting'), (N'TABLE', N'Gate'), (N'TABLE', N'HeldKey'), (N'TABLE', N'IdleWatch'),
    (N'TABLE', N'Inbox'), (N'TABLE', N'KeySequence'), (N'TABLE', N'Landing'), (N'TABLE', N'LandingAcknowledged'),
    (N'TABLE', N'Migration'), (N'TABLE', N'OperatorLog'), (N'VIEW', N'Outbox'), (N'TRIGGER', N'Outbox_Insert'),
    (N'TABLE', N'OwnedObject'), (N'TABLE', N'PoisonAttempt'), (N'TABLE', N'SendLedger'), (N'TABLE', N'SentMessage'),
    (N'TABLE', N'SessionConversations'), (N'TABLE', N'Setting'), (N'TABLE', N'SkippedNumber'),
    (N'FUNCTION', N'ufn_Conversations'), (N'FUNCTION', N'ufn_DeadLetters'), (N'FUNCTION', N'ufn_DialogOf'),
    (N'FUNCTION', N'ufn_DialogTrail'), (N'FUNCTION', N'ufn_HealthBroker'), (N'FUNCTION', N'ufn_HealthConversations'),
    (N'FUNCTION', N'ufn_HealthData'), (N'FUNCTION', N'ufn_HealthPending'), (N'FUNCTION', N'ufn_HealthQueues'),
    (N'FUNCTION', N'ufn_Leaked'), (N'FUNCTION', N'ufn_Pending'), (N'FUNCTION', N'ufn_QueuePages'),
    (N'FUNCTION', N'ufn_Queues'), (N'FUNCTION', N'ufn_ReadBatch'), (N'FUNCTION', N'ufn_ReadEnvelope'),
    (N'FUNCTION', N'ufn_SentAgain'), (N'FUNCTION', N'ufn_Sides'), (N'FUNCTION', N'ufn_Trail'),
    (N'PROCEDURE', N'usp_AcknowledgeLanding'), (N'PROCEDURE', N'usp_AcquireConversation'),
    (N'PROCEDURE', N'usp_ArmTimer'), (N'PROCEDURE', N'usp_BeginConversation'), (N'PROCEDURE', N'usp_BeginPartition'),
    (N'PROCEDURE', N'usp_CheckHealth'), (N'PROCEDURE', N'usp_CheckMessages'), (N'PROCEDURE', N'usp_CloseDialogs'),
    (N'PROCEDURE', N'usp_CloseEverlasting'), (N'PROCEDURE', N'usp_CloseGate'), (N'PROCEDURE', N'usp_CountRefusals'),
    (N'PROCEDURE', N'usp_Drain'), (N'PROCEDURE', N'usp_DropCopies'), (N'PROCEDURE', N'usp_EndInitiator'),
    (N'PROCEDURE', N'usp_EndLeaked'), (N'PROCEDURE', N'usp_EndLeakedOne'), (N'PROCEDURE', N'usp_EndPartition'),
    (N'PROCEDURE', N'usp_EndTarget'), (N'PROCEDURE', N'usp_Figures'), (N'PROCEDURE', N'usp_FindPoison'),
    (N'PROCEDURE', N'usp_Health'), (N'PROCEDURE', N'usp_InTheWay'), (N'PROCEDURE', N'usp_LandBatch'),
    (N'PROCEDURE', N'usp_LandRow'), (N'PROCEDURE', N'usp_LogError'), (N'PROCEDURE', N'usp_Mark'),
    (N'PROCEDURE', N'usp_MarkDeadLetter'), (N'PROCEDURE', N'usp_MoveCopies'), (N'PROCEDURE', N'usp_OpenGate'),
    (N'PROCEDURE', N'usp_PickConversation'), (N'PROCEDURE', N'usp_PurgeDeadLetter'), (N'PROCEDURE', N'usp_PurgeInbox'),
    (N'PROCEDURE', N'usp_PurgeLanding'), (N'PROCEDURE', N'usp_PurgeLogs'), (N'PROCEDURE', N'usp_PurgePoison'),
    (N'PROCEDURE', N'usp_PurgeSendLedger'), (N'PROCEDURE', N'usp_QueueTrouble'), (N'PROCEDURE', N'usp_ReadErrorBody'),
    (N'PROCEDURE', N'usp_RecordPoison'), (N'PROCEDURE', N'usp_RecycleConversation'),
    (N'PROCEDURE', N'usp_RecycleInOneTransaction'), (N'PROCEDURE', N'usp_RehearseLanding'),
    (N'PROCEDURE', N'usp_ReopenGate'), (N'PROCEDURE', N'usp_ReorganizeQueue'), (N'PROCEDURE', N'usp_ReplayDeadLetter'),
    (N'PROCEDURE', N'usp_Resend'), (N'PROCEDURE', N'usp_ResendLeft'), (N'PROCEDURE', N'usp_ResendPending'),
    (N'PROCEDURE', N'usp_ResendStranded'), (N'PROCEDURE', N'usp_RetireIdle'), (N'PROCEDURE', N'usp_SeesPending'),
    (N'PROCEDURE', N'usp_Send'), (N'PROCEDURE', N'usp_SendBatch'), (N'PROCEDURE', N'usp_SendEndOfStream'),
    (N'PROCEDURE', N'usp_SenderActivation'), (N'PROCEDURE', N'usp_SendMessages'), (N'PROCEDURE', N'usp_SendPrivately'),
    (N'PROCEDURE', N'usp_Sessions'), (N'PROCEDURE', N'usp_StartQueue'), (N'PROCEDURE', N'usp_TakeTurn'),
    (N'PROCEDURE', N'usp_TargetActivation'), (N'PROCEDURE', N'usp_Trace'), (N'PROCEDURE', N'usp_WaitForEnds'),
    (N'PROCEDURE', N'usp_WaitForServer'), (N'PROCEDURE', N'usp_WaitForSlot'), (N'VIEW', N'vw_Conversations'),
    (N'VIEW', N'vw_DeadLetterCauses'), (N'VIEW', N'vw_DeadLetters'), (N'VIEW', N'vw_Errors'),
    (N'VIEW', N'vw_FailedConversations'), (N'VIEW', N'vw_Findings'), (N'VIEW', N'vw_Pending'), (N'VIEW', N'vw_Queues'),
    (N'VIEW', N'vw_Unlanded'),
(N'QUEUE', N'InitiatorQueue'), (N'QUEUE', N'TargetQueue')
) AS k(Kind, Name)
INNER JOIN sys.objects AS o
    ON o.schema_id = SCHEMA_ID(N'audit')
   AND (o.name = k.Name
        OR (k.Kind = N'TABLE' AND o.name = N'PK_' + k.Name      /* the name of our table's key on another table */
            AND o.parent_object_id <> ISNULL(OBJECT_ID(N'[audit].' + QUOTENAME(k.Name), N'U'), 0)))
WHERE ISNULL(CHARINDEX(CONCAT(N',', o.name, N','), @replaced), 0) = 0
  AND (ISNULL(CASE o.type WHEN 'U' THEN N'TABLE' WHEN 'SQ' THEN N'QUEUE' WHEN 'P' THEN N'PROCEDURE' WHEN 'V' THEN N'VIEW'
              WHEN 'TR' THEN N'TRIGGER' WHEN 'IF' THEN N'FUNCTION' WHEN 'TF' THEN N'FUNCTION' WHEN 'FN' THEN N'FUNCTION' END, N'') <> k.Kind
       OR (NOT (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %'))
           AND NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                           WHERE q.object_id = o.object_id
                             AND EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = OBJECT_ID(q.activation_procedure, N'P')
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %'))))
ORDER BY o.name;

INSERT INTO @foreign (Shown)
SELECT CONCAT(N'type ', N'[audit].', QUOTENAME(t.name))
FROM sys.types AS t
WHERE t.schema_id = SCHEMA_ID(N'audit')
  AND t.name IN (N'MessageBatch', N'ReceivedBatch')
  AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made');

SET @foreigners = (SELECT COUNT(*) FROM @foreign);
WHILE @next <= 5 AND @next <= @foreigners
BEGIN
    SELECT @names = @names + CASE @next WHEN 1 THEN N'' ELSE N', ' END + LEFT(f.Shown, 200) FROM @foreign AS f WHERE f.Ordinal = @next;
    SET @next = @next + 1;
END;
IF @foreigners > 0 AND @sees = 1
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50208, CONCAT(N'There already, and not made by Redial: ', @names, CASE WHEN @foreigners > 5 THEN CONCAT(N' and ', @foreigners - 5, N' more') ELSE N'' END,
        N'. A deployment would replace it and a removal drop it.'),
        N'a schema of its own for configuration audit ([schema] in its file), render, deploy; or rename what is there. Only if it is Redial''s and has lost its mark: EXECUTE [audit].[usp_Mark] N''TABLE'', N''its name''; (or TYPE).');

/* -- 7  Message types, contract and services are the whole database's. Ours may share a type or a contract
         with others, who keep its validation; a contract cannot be altered; a service is one's own. Names
         byte for byte (F-376) ------------------------------------------------------------------------- */
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/audit/event' AND mt.validation <> 'N')
   AND (NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/event')
                 AND ep.name = N'Redial.made')
        OR EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/event')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'))))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50193, N'Message type ''//redial/audit/event'' has another validation in this database, and somebody else uses it.', N'use its validation, or a type of another name.');
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream' AND mt.validation <> 'E')
   AND (NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
                 AND ep.name = N'Redial.made')
        OR EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'))))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50193, N'Message type ''EndOfStream'' has another validation in this database, and somebody else uses it.', N'use its validation, or a type of another name.');

INSERT INTO @found (Number, Problem, NextStep)
SELECT TOP (1) 50192, CONCAT(N'Message type ''', t.Name, N''' is not in the contract ''//redial/audit/contract'' of this database, and a contract cannot be altered.'),
    N'give contract.name a new value and list the old one in contract.previous; then deploy.'
FROM (VALUES (N'//redial/audit/event', 0), (N'EndOfStream', 0)) AS t(Name, IsAnswer)
INNER JOIN sys.service_contracts AS sc ON sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract'
WHERE NOT EXISTS (SELECT 1
                  FROM sys.service_contract_message_usages AS u
                  INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id
                  WHERE u.service_contract_id = sc.service_contract_id
                    AND mt.name = t.Name COLLATE Latin1_General_BIN2
                    AND (u.is_sent_by_target = 1 OR t.IsAnswer = 0)
                    AND (u.is_sent_by_initiator = 1 OR t.IsAnswer = 1));

IF @sees = 1 AND EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50194, N'Service ''//redial/audit/initiator'' is in this database already and was not made by a deployment of schema ''audit''.', N'choose another name for it in [services].');

IF @sees = 1 AND EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50194, N'Service ''//redial/audit/target'' is in this database already and was not made by a deployment of schema ''audit''.', N'choose another name for it in [services].');

/* By a text of its own, as above. */
DECLARE @module nvarchar(400) = NULL;
IF @sees = 1 AND COL_LENGTH(N'[audit].[Setting]', N'Name') IS NOT NULL AND COL_LENGTH(N'[audit].[Setting]', N'Value') IS NOT NULL
    EXECUTE sys.sp_executesql N'SELECT @module = st.Value FROM [audit].[Setting] AS st WHERE st.Name = N''roles.module'';',
        N'@module nvarchar(400) OUTPUT', @module = @module OUTPUT;
IF @module <> N'audit_module'
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50195, N'The installed procedures of schema ''audit'' run as another user than roles.module says, and it owns the services.',
        N'uninstall, then deploy (data stays).');

/* -- 8  Has a later version been here? Its migrations have changed tables in a way this script knows
         nothing of. After its own uninstall.sql this one works: migrations only add (35_migrations) ----- */
DECLARE @later nvarchar(200) = NULL;
IF @sees = 1 AND COL_LENGTH(N'[audit].[Migration]', N'Number') IS NOT NULL
   AND COL_LENGTH(N'[audit].[Migration]', N'Name') IS NOT NULL
   AND COL_LENGTH(N'[audit].[DeploymentHistory]', N'Version') IS NOT NULL
    EXECUTE sys.sp_executesql
        N'SELECT TOP (1) @later = CONCAT(m.Number, N'' '', m.Name, N'' (version '', h.Version, N'')'') FROM [audit].[Migration] AS m OUTER APPLY (SELECT TOP (1) dh.Version FROM [audit].[DeploymentHistory] AS dh ORDER BY dh.DeploymentId DESC) AS h WHERE m.Number > 0 AND ISNULL(h.Version, N'''') <> N''uninstalled'' ORDER BY m.Number DESC;',
        N'@later nvarchar(200) OUTPUT', @later = @later OUTPUT;
IF @later IS NOT NULL
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50225, CONCAT(N'A later version of Redial is installed in schema [audit]: its migration ', @later,
        N' is unknown to this script, 0.1.0.'),
        N'deploy the later version; or run its uninstall.sql (data stays), then this script.');


/* -- All of it, once. One kind of finding keeps its own number. THROW takes 2,048 characters (its page),
      so of many the rest is printed. ---------------------------------------------------------------- */
DECLARE @count int = (SELECT COUNT(*) FROM @found);
DECLARE @ordinal int = 0;
DECLARE @fit int = 0;
DECLARE @number int;
DECLARE @line nvarchar(2600);
DECLARE @refusal nvarchar(2048);
IF @count > 0
BEGIN
    SELECT @number = CASE WHEN MIN(f.Number) = MAX(f.Number) THEN MIN(f.Number) ELSE 50221 END FROM @found AS f;
    SET @refusal = CASE @count WHEN 1 THEN N'' ELSE CONCAT(@count, N' things are in the way, and nothing was done.') END;
    WHILE @ordinal < @count
    BEGIN
        SELECT TOP (1) @ordinal = f.Ordinal,
            @line = CASE @count WHEN 1 THEN CONCAT(f.Problem, N' Nothing was done. Next: ', f.NextStep)
                                ELSE CONCAT(N' (', f.Ordinal, N') ', f.Problem, N' Next: ', f.NextStep) END
        FROM @found AS f
        WHERE f.Ordinal > @ordinal
        ORDER BY f.Ordinal;
        IF @count > 1
            PRINT @line;
        IF @fit = @ordinal - 1 AND LEN(@refusal) + LEN(@line) <= 1900
            SELECT @refusal = CONCAT(@refusal, @line), @fit = @ordinal;
    END;
    IF @fit < @count
        SET @refusal = CONCAT(@refusal, CASE @fit WHEN 0 THEN LEFT(@line, 1900) ELSE CONCAT(N' ', @count - @fit, N' more are printed above.') END);
    SET @refusal = REPLACE(@refusal, N'%', N'%%');      /* F-133 */
    THROW @number, @refusal, 127;       /* sqlcmd ends at state 127: an old server would refuse the rest by its grammar (F-493) */
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Service Broker must be on. ENABLE_BROKER keeps the broker's guid and needs the database for
   itself (F-101). database.enable_broker says how it may come by that, once, where the broker is off:
   no_wait gives up when anybody else is in the database (05_preflight names them); immediate cuts every
   other session off; wait lets them end, however long that takes (ALTER DATABASE heeds no LOCK_TIMEOUT),
   and whoever comes meanwhile may queue behind it; with never this script is not there.
   A restored copy beside its original is refused (9772): only you can know whether it may have
   NEW_BROKER, which deletes its conversations. Managed Instance (engine edition 8) has it on and
   refuses the statement (F-102), so it is issued only where it is off and may be switched. */
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0)
BEGIN
    ALTER DATABASE CURRENT SET ENABLE_BROKER WITH NO_WAIT;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* The one principal every procedure of this configuration runs as: a user nobody can log in with.
   It owns the schema and the services, so ownership gives it nearly all it needs and the application
   is granted EXECUTE on usp_Send alone. One transaction: what is made is marked as made (F-190). */
DECLARE @property int;
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NULL
BEGIN
    CREATE USER [audit_module] WITHOUT LOGIN;
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
/* In no role: whoever may ALTER one of its procedures has its rights. An earlier choice, or somebody, may
   have made it a member of db_owner. With a signature that waits for the signature, in 79_code_signing. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.db_owner')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.db_owner',
        @level0type = N'USER', @level0name = N'audit_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
IF IS_ROLEMEMBER(N'db_owner', N'audit_module') = 1
BEGIN
    ALTER ROLE [db_owner] DROP MEMBER [audit_module];
    PRINT N'User [audit_module] is no member of db_owner any more: roles.module_is_db_owner = false. No procedure of ours needs it on a message''s way; a trigger or a hook of yours may need grants.';
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF SCHEMA_ID(N'audit') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    EXECUTE sys.sp_executesql
        N'CREATE SCHEMA [audit] AUTHORIZATION [audit_module];';
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'SCHEMA', @level0name = N'audit';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END
/* A schema that was there before keeps its owner; the module user needs its objects all the same.
   Only then: a grant to the owner itself is refused with message 4624 (F-140). */
ELSE IF EXISTS (SELECT 1 FROM sys.schemas AS s
                WHERE s.name = N'audit'
                  AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    GRANT CONTROL ON SCHEMA::[audit] TO [audit_module];
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_Mark]
    @kind nvarchar(30),     /* TABLE, QUEUE, TYPE of this schema; MESSAGE TYPE, CONTRACT, SERVICE, USER (a role too) */
    @name sysname,
    @made bit = 1           /* 0: it may have been there before; this configuration uses it */
AS
/* Redial 0.1.0, configuration audit.
   For deployments only. Marks what one has made (Redial.made) and, on what configurations can share, that
   this one uses it (Redial.user.<id of its schema>). Called in the transaction that makes the object: a
   mark that cannot be set ends both. sp_addextendedproperty raises and returns, which ends no batch,
   XACT_ABORT or not (F-361), so its return code is asked for. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @property int;
    DECLARE @user sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
    DECLARE @class int;
    DECLARE @id int;
    DECLARE @sql nvarchar(400);
    DECLARE @used TABLE (Found int NOT NULL);

    IF @kind IN (N'TABLE', N'QUEUE', N'TYPE')
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
            @level0type = N'SCHEMA', @level0name = N'audit', @level1type = @kind, @level1name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        RETURN;
    END;

    IF @made = 1
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
            @level0type = @kind, @level0name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;

    /* Marked by an earlier deployment? Names of the broker's objects are compared byte for byte (F-376). */
    SELECT @class = CASE @kind WHEN N'USER' THEN 4 WHEN N'MESSAGE TYPE' THEN 15 WHEN N'CONTRACT' THEN 16 ELSE 17 END,
        @id = CASE @kind
            WHEN N'USER' THEN DATABASE_PRINCIPAL_ID(@name)
            WHEN N'MESSAGE TYPE' THEN (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name)
            WHEN N'CONTRACT' THEN (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name)
            ELSE (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name) END;
    /* A text of its own, of three numbers: tools that read a schema from its script do not know this view. */
    SET @sql = CONCAT(N'SELECT 1 FROM sys.extended_properties AS ep WHERE ep.name = N''', @user, N''' AND ep.class = ', @class,
        N' AND ep.major_id = ', ISNULL(@id, 0), N';');
    INSERT INTO @used (Found) EXECUTE (@sql);
    IF EXISTS (SELECT 1 FROM @used)
        RETURN;
    EXECUTE @property = sys.sp_addextendedproperty @name = @user, @value = N'audit',
        @level0type = @kind, @level0name = @name;
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO
/* Roles, and the module user: configurations may share them, so each leaves its own mark, and the last
   one out drops what was made. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
EXECUTE [audit].[usp_Mark] N'USER', N'audit_module', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NULL
BEGIN
    CREATE ROLE [audit_sender];
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_sender';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_sender', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NULL
BEGIN
    CREATE ROLE [audit_operator];
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_operator';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_operator', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NULL
BEGIN
    CREATE ROLE [audit_reader];
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_reader';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_reader', @made = 0;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[DeploymentHistory]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[DeploymentHistory]
    (
        DeploymentId int IDENTITY (1, 1) NOT NULL,
        DeployedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentHistory_DeployedUtc] DEFAULT (SYSUTCDATETIME()),
        DeployedBy nvarchar(128) NOT NULL CONSTRAINT [DF_DeploymentHistory_DeployedBy] DEFAULT (ORIGINAL_LOGIN()),
        ConfigName nvarchar(128) NOT NULL,
        Version nvarchar(30) NOT NULL,
        ContentHash char(64) NOT NULL,
        CONSTRAINT [PK_DeploymentHistory] PRIMARY KEY CLUSTERED (DeploymentId)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'DeploymentHistory';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* The files of the last ten deployments, for redial rollback: a JSON object of texts by name, compressed with
   GZIP, which DECOMPRESS reads. ContentHash is that of DeploymentHistory. Known is what the deployment found
   around it and no file makes (options of the database, its triggers, rights on it), for redial verify. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[DeploymentText]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[DeploymentText]
    (
        ContentHash char(64) NOT NULL,
        KeptUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentText_KeptUtc] DEFAULT (SYSUTCDATETIME()),
        Files varbinary(max) NOT NULL,
        Known nvarchar(max) NULL,
        CONSTRAINT [PK_DeploymentText] PRIMARY KEY CLUSTERED (ContentHash)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'DeploymentText';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Which numbered migrations (35_) have changed the tables of this schema. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[Migration]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Migration]
    (
        Number int NOT NULL,
        Name nvarchar(128) NOT NULL,
        AppliedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Migration_AppliedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Migration] PRIMARY KEY CLUSTERED (Number)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'Migration';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Objects this configuration created that cannot carry a mark (20_security/marks.inc.j2): Agent jobs,
   broker priorities. Uninstall drops these and nothing else of their kinds. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[OwnedObject]
    (
        Kind nvarchar(30) NOT NULL,
        Name nvarchar(128) NOT NULL,
        CreatedUtc datetime2(3) NOT NULL CONSTRAINT [DF_OwnedObject_CreatedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_OwnedObject] PRIMARY KEY CLUSTERED (Kind, Name)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'OwnedObject';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* The choices installed now: what a later deployment compares itself with. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[Setting]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Setting]
    (
        Name nvarchar(60) NOT NULL,
        Value nvarchar(400) NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Setting_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Setting] PRIMARY KEY CLUSTERED (Name)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'Setting';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Where a choice differs from the installed one, the change: gate closed, every dialog ended on both
   sides, rows taken away. The procedures that follow find nothing in flight that they would read otherwise than it was written,
   and 93_settings opens the gate again. Choices that only new dialogs or readers see (encryption,
   lifetime, timer, batch, readers, processing, a contract's new version) drain nothing.
   The rule of the gate: a drain that does not finish opens it again, for nothing has been replaced. A
   deployment that stops later leaves it closed until it is run again, with the old choices or the new. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists below would be cut (F-331) */

DECLARE @message nvarchar(2048);

/* -- 1  What differs from the installed choices ------------------------------------------------- */
DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
DECLARE @changed nvarchar(1000) = N'';
DECLARE @differences TABLE (DifferenceId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Difference nvarchar(1000) NOT NULL);
DECLARE @difference int = 0;
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N'config_id', N'1', 1),
    (N'conversation.key', N'spid', 1),
    (N'conversation.recycle', N'timer', 1),
    (N'conversation.timer_strategy', N'two_phase', 1),
    (N'conversation.order', N'conversation', 1),
    (N'conversation.delivery', N'at_least_once', 1),
    (N'conversation.copies', N'until_landed', 1),
    (N'envelope.who', N'1', 1),
    (N'contract.end_of_stream', N'EndOfStream', 1),
    (N'services.initiator', N'//redial/audit/initiator', 1),
    (N'services.target', N'//redial/audit/target', 1),
    (N'queues.initiator', N'InitiatorQueue', 1),
    (N'queues.target', N'TargetQueue', 1),
    (N'target.database', N'', 1),
    (N'pool.size', N'0', 0),
    (N'target.processing', N'land', 0),
    (N'conversation.encryption', N'0', 0),
    (N'conversation.lifetime_seconds', N'2592000', 0),
    (N'contract.name', N'//redial/audit/contract', 0),
    (N'roles.module', N'audit_module', 0);

INSERT INTO @differences (Difference)
SELECT CONCAT(w.Name, N' ', ISNULL(st.Value, N'(unknown)'), N' -> ', w.Value, N'; ')
FROM @wanted AS w
LEFT OUTER JOIN [audit].[Setting] AS st ON st.Name = w.Name
WHERE w.Drains = 1
  AND (st.Value <> w.Value COLLATE Latin1_General_BIN2     /* service names: byte for byte (F-376) */
       /* An installation from before this choice: its dialogs know nothing of it. */
       OR (st.Name IS NULL AND EXISTS (SELECT 1 FROM [audit].[Setting] AS k WHERE k.Name = N'conversation.key')))
ORDER BY w.Name;
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/audit/event' AND mt.validation <> 'N')
    INSERT INTO @differences (Difference) VALUES (N'validation of //redial/audit/event; ');
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream' AND mt.validation <> 'E')
    INSERT INTO @differences (Difference) VALUES (N'validation of EndOfStream; ');

/* A version of the contract that is no longer listed: usp_Send will not ask which version a dialog is
   on, so those dialogs go first. */
INSERT INTO @differences (Difference)
SELECT CONCAT(N'contract ', sc.name, N' no longer listed; ')
FROM sys.service_contracts AS sc
INNER JOIN sys.extended_properties AS ep ON ep.class = 16 AND ep.major_id = sc.service_contract_id
WHERE ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'))
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/contract')
  AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody's dialog */
              WHERE ce.service_contract_id = sc.service_contract_id AND ce.state <> 'CD');

/* One row after the other: SELECT @v = @v + .. over several rows may keep the last one only (F-371). */
WHILE EXISTS (SELECT 1 FROM @differences AS d WHERE d.DifferenceId > @difference)
BEGIN
    SELECT TOP (1) @difference = d.DifferenceId, @changed = LEFT(CONCAT(@changed, d.Difference), 1000)
    FROM @differences AS d
    WHERE d.DifferenceId > @difference
    ORDER BY d.DifferenceId;
END;

IF @changed <> N''
   /* Else an earlier run has drained and was stopped later: nobody could send since. */
   AND NOT EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value IN (N'drained', N'uninstall'))
BEGIN
    /* -- 4  The installed usp_Drain knows the installed choices: gate, dialogs, both sides ---------- */
    PRINT CONCAT(N'Changing with a drain: ', @changed);
    DECLARE @waitSeconds int = ISNULL(TRY_CONVERT(int, SESSION_CONTEXT(N'redial.wait_seconds')), 60);   /* 0 to 3600 */
    DECLARE @left int = 0;
    DECLARE @said nvarchar(2000) = N'';
    IF OBJECT_ID(N'[audit].[usp_Drain]', N'P') IS NOT NULL
        EXECUTE @left = [audit].[usp_Drain] @reason = N'deployment: change of choices', @waitSeconds = @waitSeconds, @WhatIf = 0,
            @mark = N'closed', @said = @said OUTPUT;
    ELSE IF EXISTS (SELECT 1
                    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody's dialog */
                    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                    INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
                    WHERE q.schema_id = SCHEMA_ID(N'audit') AND ce.state <> 'CD')
        SET @left = 2;
    ELSE
    BEGIN
        /* A deployment that stopped before usp_Drain: nobody but its deployer can have sent. */
        BEGIN TRANSACTION;
        UPDATE g
        SET IsOpen = 0, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment: change of choices'
        FROM [audit].[Gate] AS g
        WHERE g.ConfigId = 1 AND g.IsOpen = 1;
        IF @@ROWCOUNT = 1
           AND NOT EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate')
            INSERT INTO [audit].[Setting] (Name, Value) VALUES (N'deployment.gate', N'closed');
        COMMIT TRANSACTION;
    END;
    IF @left = 1
    BEGIN
        SET @message = CONCAT(N'Not drained within ', @waitSeconds, N' seconds, so the choices stay as they are: ', @changed, @said,
            N'Nothing was changed, and the gate is as it was before. Next: ', N'let those transactions end (or wait longer: EXECUTE sys.sp_set_session_context N''redial.wait_seconds'', 600; before this script, up to 3600); look at [audit].[usp_Health], which names what else is in the way and what to call; at [audit].[vw_Unlanded] for messages that have not landed, which EXECUTE [audit].[usp_Resend] sends again', N'; then deploy again.');
        SET @message = REPLACE(@message, N'%', N'%%');
        THROW 50190, @message, 1;
    END;
    IF @left = 2
    BEGIN
        SET @message = CONCAT(N'[audit].[usp_Drain] is not installed and conversations are open, so nobody can be kept out while this changes: ', @changed,
            N'Nothing was changed. Next: deploy the installed choices to the end, or end what sends and run uninstall.sql (data stays); then this script again.');
        SET @message = REPLACE(@message, N'%', N'%%');
        THROW 50191, @message, 1;
    END;

    /* From here on a stop leaves the gate closed: what follows replaces procedures. An operator's own
       closed gate has no mark, and is the operator's to open. */
    BEGIN TRY
        BEGIN TRANSACTION;
        UPDATE [audit].[Setting] SET Value = N'drained' WHERE Name = N'deployment.gate';
        /* lint: allow SB13: every row, and the gate keeps senders out */
        DELETE FROM [audit].[SessionConversations];
        IF OBJECT_ID(N'[audit].[Everlasting]', N'U') IS NOT NULL
            DELETE FROM [audit].[Everlasting];
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        /* A deadlock (1205), say: nothing has been replaced, so senders may come in again. */
        IF OBJECT_ID(N'[audit].[usp_ReopenGate]', N'P') IS NOT NULL
           AND EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = N'closed')
            EXECUTE [audit].[usp_ReopenGate] @mark = N'closed';
        THROW;
    END CATCH;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.files', @value = N'65897640aba40bc1 0', @level0type = N'SCHEMA', @level0name = N'audit';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
