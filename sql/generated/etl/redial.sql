/* Redial 0.1.0, configuration etl: the installer.
   Run it in the database it is for, outside a transaction. Run it again after an error: it finishes. It is ONE
   batch without a separator, so no tool can cut it in a wrong place, carry on behind an error or spread it over
   connections: sqlcmd with and without -b, SSMS, Invoke-Sqlcmd, Flyway, Liquibase, DbUp and others run it as
   it is. To be told what would change, and change nothing: write 1 for @plan below; or run before, in the same
   session, EXECUTE sys.sp_set_session_context N'redial.plan', 1;

   It runs the files of this folder in their order, each as a text. Read them there, one object each; what runs
   them stands at the end, behind the last. It takes the lock that redial deploy takes, asks whether it may,
   says what differs, leaves alone what does not, writes down the attempt, and tells what stopped it.

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
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made (F-103) */
SET QUOTED_IDENTIFIER ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut (F-331) */
DECLARE @plan bit = 0;                  /* 1: say what would change, and change nothing */
DECLARE @lockSeconds int = 60;          /* how long to wait for another deployment of this configuration */

DECLARE @implicit int = @@OPTIONS & 2;  /* a tool without autocommit: given back at the end */
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'redial.sql was started inside a transaction. Nothing was done. Next: run it outside of one; Flyway: executeInTransaction=false, Liquibase: runInTransaction="false", DbUp: WithoutTransaction.', 127;
SET XACT_ABORT ON;                      /* a part ends at its first error */
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
SET NOCOUNT ON;

DECLARE @part TABLE
(
    Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    Name nvarchar(200) NOT NULL,        /* of the file */
    FirstLine int NOT NULL,             /* of the text in it */
    Kind nvarchar(20) NULL,             /* table, type, procedure, function, view, trigger; NULL: more than one object */
    ObjectName nvarchar(300) NULL,
    PartText nvarchar(max) NOT NULL,
    Tail nvarchar(max) NULL,            /* of a module: the text behind CREATE and its kind, which the catalog keeps */
    Found nvarchar(max) NULL,           /* what the catalog has */
    Change nvarchar(10) NULL            /* create, alter; NULL: as it is, or not compared here */
);
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'05_preflight.check.sql', 4, NULL, NULL,
N'/* May this be installed here, and by you? Asked before anything is done, because a deployment that stops
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
DECLARE @edition int = CONVERT(int, SERVERPROPERTY(N''EngineEdition''));
DECLARE @version nvarchar(128) = CONVERT(nvarchar(128), SERVERPROPERTY(N''ProductVersion''));
IF @edition NOT IN (2, 3, 4, 8)
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50222, CONCAT(N''Redial needs Service Broker, and this server is of engine edition '', @edition,
        CASE @edition WHEN 5 THEN N'', Azure SQL Database, which has none.'' ELSE N'', which Redial is not made for.'' END),
        N''use SQL Server 2016 SP1 or later, or Azure SQL Managed Instance.'');
ELSE IF @edition <> 8
        AND (CONVERT(int, PARSENAME(@version, 4)) < 13
             OR (CONVERT(int, PARSENAME(@version, 4)) = 13 AND CONVERT(int, PARSENAME(@version, 2)) < 4001))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50222, CONCAT(N''This server is version '', @version, N''; needed is 13.0.4001, SQL Server 2016 SP1, or later.''),
        N''install a service pack of 2016 or a later version.'');

/* -- 2  The database. Its row of sys.databases is visible to whoever is in it ------------------------- */
IF DB_ID() BETWEEN 1 AND 4
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50223, CONCAT(@here, N'' is a system database.''), N''USE the database the messages belong to, and run it again.'');

IF CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), N''Updateability'')) <> N''READ_WRITE''
    INSERT INTO @found (Number, Problem, NextStep)
    SELECT 50223, CONCAT(@here, N'' cannot be written to here: it is '',
            CASE WHEN d.group_database_id IS NOT NULL THEN N''a secondary replica of an availability group.''
                 WHEN d.is_in_standby = 1 THEN N''a standby for log shipping.'' ELSE N''READ_ONLY.'' END),
        CASE WHEN d.group_database_id IS NOT NULL THEN N''connect to the primary replica (the listener leads there).''
             WHEN d.is_in_standby = 1 THEN N''connect to the server it is restored from.''
             ELSE CONCAT(N''ALTER DATABASE '', @here, N'' SET READ_WRITE;'') END
    FROM sys.databases AS d
    WHERE d.database_id = DB_ID();

/* In single user mode there is no second session, and so no reader (F-491). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, N'' is in single user mode, so no queue could be read beside you.''),
    CONCAT(N''ALTER DATABASE '', @here, N'' SET MULTI_USER;'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.user_access = 1;

/* OPENJSON is there from level 130 on (its page). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, N'' has compatibility level '', d.compatibility_level, N''; needed is 130 or more.''),
    CONCAT(N''try your application at 130; then ALTER DATABASE '', @here, N'' SET COMPATIBILITY_LEVEL = 130;'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.compatibility_level < 130;

/* A restored or attached copy may have an owner this server does not know, or two: one in master, one in
   the database. Activation and EXECUTE AS then fail with 15517 or 33009 (F-492). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, CASE WHEN d.owner_sid IS NULL OR SUSER_SNAME(d.owner_sid) IS NULL
                                      THEN N'' has an owner this server does not know''
                                 ELSE N'' has one owner in sys.databases and another as user dbo'' END,
        N'', so activation and EXECUTE AS would fail.''),
    CONCAT(N''ALTER AUTHORIZATION ON DATABASE::'', @here, N'' TO [sa]; or to another login of this server.'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND (d.owner_sid IS NULL
       OR SUSER_SNAME(d.owner_sid) IS NULL
       OR NOT EXISTS (SELECT 1 FROM sys.database_principals AS dp WHERE dp.name = N''dbo'' AND dp.sid = d.owner_sid));

/* Committed is then not yet on disk, and a crash loses acknowledged messages (page Control transaction
   durability). ALLOWED leaves the choice to each COMMIT: ours make none. By a text of its own: 2012 has no such column, and would not compile this. */
DECLARE @forced bit = 0;
IF CONVERT(int, PARSENAME(@version, 4)) >= 12
    EXECUTE sys.sp_executesql N''SELECT @forced = 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.delayed_durability = 2;'',
        N''@forced bit OUTPUT'', @forced = @forced OUTPUT;
IF @forced = 1
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50223, CONCAT(@here, N'' has DELAYED_DURABILITY = FORCED: a message that was committed could be lost when the server stops.''),
        CONCAT(N''ALTER DATABASE '', @here, N'' SET DELAYED_DURABILITY = DISABLED; or ALLOWED, then a sender''''s COMMIT WITH (DELAYED_DURABILITY = ON) is its own risk.''));

/* In a contained database names have a collation of their own, and ours are compared with rows (468; page
   Contained database collations). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50223, CONCAT(@here, N'' is a contained database of collation '', d.collation_name, N'', and its catalog has another one: names and data could not be compared (468).''),
    CONCAT(N''ALTER DATABASE '', @here, N'' SET CONTAINMENT = NONE; or use a database that is not contained.'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.containment = 1
  AND d.collation_name NOT IN (N''Latin1_General_100_CI_AS_WS_KS_SC'', N''Latin1_General_100_CI_AS_KS_WS_SC'');

/* A warning: it works while somebody is connected. usp_Health says so as well. */
IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_auto_close_on = 1)
    PRINT CONCAT(N''Warning: '', @here, N'' has AUTO_CLOSE ON. It closes with its last session, and no reader starts until somebody comes. Next: ALTER DATABASE '', @here, N'' SET AUTO_CLOSE OFF;'');

/* ENABLE_BROKER is refused on an availability group (1468, F-483); 10_broker switches it on elsewhere. */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50224, CONCAT(N''Service Broker is off in '', @here, N'', which is in an availability group, and the server refuses to switch it on there.''),
    CONCAT(N''on the primary replica ALTER AVAILABILITY GROUP its name REMOVE DATABASE '', @here, N''; then ALTER DATABASE '', @here,
        N'' SET ENABLE_BROKER; then add the database to the group again, on the secondaries by a fresh restore or automatic seeding.'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND d.group_database_id IS NOT NULL AND @edition <> 8;

/* And beside its original, where the broker of both would have one identity (9772). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT TOP (1) 50224, CONCAT(N''Service Broker is off in '', @here, N'' and on in '', QUOTENAME(o.name), N'', which has the same broker identity: one is a copy of the other.''),
    CONCAT(N''if the conversations in '', @here, N'' may go, ALTER DATABASE '', @here, N'' SET NEW_BROKER; which ends them and tells nobody. If it takes the place of the other, ALTER DATABASE '',
        QUOTENAME(o.name), N'' SET DISABLE_BROKER; first. Then deploy again.'')
FROM sys.databases AS d
INNER JOIN sys.databases AS o ON o.service_broker_guid = d.service_broker_guid AND o.database_id <> d.database_id AND o.is_broker_enabled = 1
WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND @edition <> 8
ORDER BY o.name;

/* ALTER DATABASE is refused inside a transaction (226). */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50224, CONCAT(N''Service Broker is off in '', @here, N'', your session has a transaction open, and inside one the server refuses to switch it on.''),
    CONCAT(N''COMMIT; SET IMPLICIT_TRANSACTIONS OFF; and deploy again; or first, outside of a transaction, ALTER DATABASE '', @here, N'' SET ENABLE_BROKER;'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND d.group_database_id IS NULL AND @edition <> 8
  AND (@open > 0 OR @@OPTIONS & 2 = 2);

/* ENABLE_BROKER needs the database for itself (F-101), and NO_WAIT gives up at once: who is in the way? Who
   may not see other sessions (VIEW SERVER STATE) gets the server''s own refusal, from 10_broker. Up to five.
   The server''s own sessions are no users, those that activation starts among them. */
IF @edition <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0 AND d.group_database_id IS NULL)
   AND EXISTS (SELECT 1 FROM sys.dm_exec_sessions AS s WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1)
BEGIN
    DECLARE @sessions nvarchar(1200) = N'''';
    DECLARE @session int = 0;
    DECLARE @told int = 0;
    WHILE @told < 5
          AND EXISTS (SELECT 1 FROM sys.dm_exec_sessions AS s WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1 AND s.session_id > @session)
    BEGIN
        SELECT TOP (1) @session = s.session_id,
            @sessions = CONCAT(@sessions, CASE @sessions WHEN N'''' THEN N'''' ELSE N''; '' END, N''session '', s.session_id, N'', login '', LEFT(s.login_name, 60),
                N'', host '', LEFT(ISNULL(s.host_name, N''unknown''), 40), N'', program '', LEFT(ISNULL(s.program_name, N''unknown''), 60),
                N'', since '', CONVERT(nvarchar(19), s.login_time, 120))
        FROM sys.dm_exec_sessions AS s
        WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1 AND s.session_id > @session
        ORDER BY s.session_id;
        SET @told = @told + 1;
    END;
    INSERT INTO @found (Number, Problem, NextStep)
    SELECT 50226, CONCAT(N''Service Broker is off, and switching it on needs '', @here, N'' for itself, but '', COUNT(*), N'' other sessions are in it: '', @sessions, N''.''),
        N''let them end and deploy again, in a quiet hour; or say how else in database.enable_broker: wait for them (new ones then queue), or immediate, which cuts them off.''
    FROM sys.dm_exec_sessions AS s
    WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND s.is_user_process = 1;
END;

/* -- 3  Rights. CONTROL covers all the rest: CREATE for every kind of object, EXECUTE AS another user,
         GRANT, ALTER DATABASE. Membership of a fixed role is changed by its members only (ALTER ROLE page) - */
DECLARE @missing nvarchar(1000) = N'''';
IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CONTROL''), 0) = 0
BEGIN
    SELECT @missing = N''CONTROL on the database'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE SCHEMA''), 0) = 0 SET @missing = @missing + N'', CREATE SCHEMA'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE TABLE''), 0) = 0 SET @missing = @missing + N'', CREATE TABLE'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE PROCEDURE''), 0) = 0 SET @missing = @missing + N'', CREATE PROCEDURE'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE QUEUE''), 0) = 0 SET @missing = @missing + N'', CREATE QUEUE'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE SERVICE''), 0) = 0 SET @missing = @missing + N'', CREATE SERVICE'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE CONTRACT''), 0) = 0 SET @missing = @missing + N'', CREATE CONTRACT'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE MESSAGE TYPE''), 0) = 0 SET @missing = @missing + N'', CREATE MESSAGE TYPE'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''CREATE ROLE''), 0) = 0 SET @missing = @missing + N'', CREATE ROLE'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''ALTER ANY USER''), 0) = 0 SET @missing = @missing + N'', ALTER ANY USER'';
    IF ISNULL(HAS_PERMS_BY_NAME(@here, N''DATABASE'', N''ALTER ANY SCHEMA''), 0) = 0 SET @missing = @missing + N'', ALTER ANY SCHEMA'';
END
ELSE IF ISNULL(IS_MEMBER(N''db_owner''), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND ISNULL(IS_ROLEMEMBER(N''db_owner'', N''etl_module''), 0) = 1
    SET @missing = N''membership in db_owner (only members change that role, and this configuration takes its module user out of it)'';
IF @missing <> N''''
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50200, CONCAT(N''User '', @me, N'' of database '', @here, N'' cannot deploy configuration etl. Missing: '', @missing, N''.''),
        CONCAT(N''have a member of db_owner deploy, or let one run ALTER ROLE [db_owner] ADD MEMBER '', @me, N'';''));

/* -- 4  Principals that are there already must be of the kind we would make. A type_desc has a collation of
         its own, and two in one concatenation are refused before anything runs (468) ------------------- */
INSERT INTO @found (Number, Problem, NextStep)
SELECT 50202, CONCAT(N''[roles].'', k.ConfigKey, N'' '', QUOTENAME(dp.name), N'' is a '',
        LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N''_'', N'' '')), CASE dp.is_fixed_role WHEN 1 THEN N'' that is fixed'' ELSE N'''' END,
        CASE k.ConfigKey WHEN N''module'' THEN N'' somebody can log in as or nobody can run as; allowed: a new name, or a user without login.''
                         ELSE N''; allowed: a new name, or a database role of yours.'' END),
    N''change the name in the configuration, render, deploy.''
FROM (VALUES (N''module'', N''etl_module''), (N''sender'', N''etl_sender''),
             (N''operator'', N''etl_operator''), (N''reader'', N''etl_reader'')) AS k(ConfigKey, Name)
INNER JOIN sys.database_principals AS dp ON dp.name = k.Name
WHERE (k.ConfigKey = N''module'' AND NOT (dp.type = ''S'' AND dp.authentication_type = 0 AND dp.principal_id > 4))
   OR (k.ConfigKey <> N''module'' AND (dp.type <> ''R'' OR dp.is_fixed_role = 1 OR dp.principal_id = 0));

/* One principal for each configuration: an owner of two could end the conversations of both. */
INSERT INTO @found (Number, Problem, NextStep)
SELECT TOP (1) 50203, CONCAT(N''[roles].module '', QUOTENAME(dp.name), N'' owns schema '', QUOTENAME(s.name),
        N'' as well, so the procedures of this configuration could change what is in it.''),
    N''another name for [roles].module, render, deploy.''
FROM sys.database_principals AS dp
INNER JOIN sys.schemas AS s ON s.principal_id = dp.principal_id
WHERE dp.name = N''etl_module''
  AND s.schema_id <> ISNULL(SCHEMA_ID(N''etl''), -1)
ORDER BY s.schema_id;

/* -- 6  Is a name we need somebody else''s? A schema that was there before, dbo say, may hold a table, view,
         procedure or type of an application: a module''s script would replace it, a table''s would take it
         for ours, and a later purge would drop it. Names of every choice are asked for: one may change --- */
DECLARE @foreign TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Shown nvarchar(400) NOT NULL);
DECLARE @names nvarchar(1200) = N'''';
DECLARE @foreigners int;
DECLARE @next int = 1;
INSERT INTO @foreign (Shown)
SELECT CONCAT(LOWER(REPLACE(o.type_desc COLLATE DATABASE_DEFAULT, N''_'', N'' '')), N'' '',
    N''[etl].'', QUOTENAME(o.name))
FROM (VALUES
    (N''TABLE'', N''ConversationLog''), (N''TABLE'', N''DeadLetter''), (N''TABLE'', N''DeploymentAttempt''),
    (N''TABLE'', N''DeploymentHistory''), (N''TABLE'', N''DeploymentText''), (N''TABLE'', N''ErrorLog''),
    (N''TABLE'', N''Everlasting''), (N''TABLE'', N''Gate''), (N''TABLE'', N''IdleWatch''), (N''TABLE'', N''Inbox''),
    (N''TABLE'', N''KeySequence''), (N''TABLE'', N''Landing''), (N''TABLE'', N''LandingAcknowledged''), (N''TABLE'', N''Migration''),
    (N''TABLE'', N''OperatorLog''), (N''VIEW'', N''Outbox''), (N''TRIGGER'', N''Outbox_Insert''), (N''TABLE'', N''OwnedObject''),
    (N''TABLE'', N''PoisonAttempt''), (N''TABLE'', N''SendLedger''), (N''TABLE'', N''SentMessage''),
    (N''TABLE'', N''SessionConversations''), (N''TABLE'', N''Setting''), (N''TABLE'', N''SkippedNumber''),
    (N''FUNCTION'', N''ufn_Conversations''), (N''FUNCTION'', N''ufn_HealthBroker''), (N''FUNCTION'', N''ufn_HealthConversations''),
    (N''FUNCTION'', N''ufn_HealthData''), (N''FUNCTION'', N''ufn_HealthPending''), (N''FUNCTION'', N''ufn_HealthQueues''),
    (N''FUNCTION'', N''ufn_Leaked''), (N''FUNCTION'', N''ufn_Pending''), (N''FUNCTION'', N''ufn_QueuePages''),
    (N''FUNCTION'', N''ufn_Queues''), (N''FUNCTION'', N''ufn_ReadBatch''), (N''FUNCTION'', N''ufn_ReadEnvelope''),
    (N''PROCEDURE'', N''usp_AcknowledgeLanding''), (N''PROCEDURE'', N''usp_AcquireConversation''),
    (N''PROCEDURE'', N''usp_ArmTimer''), (N''PROCEDURE'', N''usp_BeginConversation''), (N''PROCEDURE'', N''usp_BeginPartition''),
    (N''PROCEDURE'', N''usp_CheckHealth''), (N''PROCEDURE'', N''usp_CheckMessages''), (N''PROCEDURE'', N''usp_CloseDialogs''),
    (N''PROCEDURE'', N''usp_CloseEverlasting''), (N''PROCEDURE'', N''usp_CloseGate''), (N''PROCEDURE'', N''usp_Drain''),
    (N''PROCEDURE'', N''usp_DropCopies''), (N''PROCEDURE'', N''usp_EndInitiator''), (N''PROCEDURE'', N''usp_EndLeaked''),
    (N''PROCEDURE'', N''usp_EndLeakedOne''), (N''PROCEDURE'', N''usp_EndPartition''), (N''PROCEDURE'', N''usp_EndTarget''),
    (N''PROCEDURE'', N''usp_FindPoison''), (N''PROCEDURE'', N''usp_Health''), (N''PROCEDURE'', N''usp_InTheWay''),
    (N''PROCEDURE'', N''usp_LandBatch''), (N''PROCEDURE'', N''usp_LandRow''), (N''PROCEDURE'', N''usp_LogError''),
    (N''PROCEDURE'', N''usp_Mark''), (N''PROCEDURE'', N''usp_MoveCopies''), (N''PROCEDURE'', N''usp_OpenGate''),
    (N''PROCEDURE'', N''usp_PickConversation''), (N''PROCEDURE'', N''usp_PurgeDeadLetter''), (N''PROCEDURE'', N''usp_PurgeInbox''),
    (N''PROCEDURE'', N''usp_PurgeLanding''), (N''PROCEDURE'', N''usp_PurgeLogs''), (N''PROCEDURE'', N''usp_PurgePoison''),
    (N''PROCEDURE'', N''usp_PurgeSendLedger''), (N''PROCEDURE'', N''usp_QueueTrouble''), (N''PROCEDURE'', N''usp_ReadErrorBody''),
    (N''PROCEDURE'', N''usp_RecordPoison''), (N''PROCEDURE'', N''usp_RecycleConversation''),
    (N''PROCEDURE'', N''usp_RecycleInOneTransaction''), (N''PROCEDURE'', N''usp_RehearseLanding''),
    (N''PROCEDURE'', N''usp_ReopenGate''), (N''PROCEDURE'', N''usp_ReorganizeQueue''), (N''PROCEDURE'', N''usp_ReplayDeadLetter''),
    (N''PROCEDURE'', N''usp_Resend''), (N''PROCEDURE'', N''usp_ResendLeft''), (N''PROCEDURE'', N''usp_ResendPending''),
    (N''PROCEDURE'', N''usp_ResendStranded''), (N''PROCEDURE'', N''usp_RetireIdle''), (N''PROCEDURE'', N''usp_SeesPending''),
    (N''PROCEDURE'', N''usp_Send''), (N''PROCEDURE'', N''usp_SendBatch''), (N''PROCEDURE'', N''usp_SendEndOfStream''),
    (N''PROCEDURE'', N''usp_SenderActivation''), (N''PROCEDURE'', N''usp_SendMessages''), (N''PROCEDURE'', N''usp_SendPrivately''),
    (N''PROCEDURE'', N''usp_StartQueue''), (N''PROCEDURE'', N''usp_TakeTurn''), (N''PROCEDURE'', N''usp_TargetActivation''),
    (N''PROCEDURE'', N''usp_WaitForEnds''), (N''PROCEDURE'', N''usp_WaitForServer''), (N''PROCEDURE'', N''usp_WaitForSlot''),
    (N''VIEW'', N''vw_Conversations''), (N''VIEW'', N''vw_DeadLetters''), (N''VIEW'', N''vw_Errors''),
    (N''VIEW'', N''vw_FailedConversations''), (N''VIEW'', N''vw_Pending''), (N''VIEW'', N''vw_Queues''), (N''VIEW'', N''vw_Unlanded''),
(N''QUEUE'', N''InitiatorQueue''), (N''QUEUE'', N''TargetQueue'')
) AS k(Kind, Name)
INNER JOIN sys.objects AS o
    ON o.schema_id = SCHEMA_ID(N''etl'')
   AND (o.name = k.Name
        OR (k.Kind = N''TABLE'' AND o.name = N''PK_'' + k.Name      /* the name of our table''s key on another table */
            AND o.parent_object_id <> ISNULL(OBJECT_ID(N''[etl].'' + QUOTENAME(k.Name), N''U''), 0)))
WHERE ISNULL(CASE o.type WHEN ''U'' THEN N''TABLE'' WHEN ''SQ'' THEN N''QUEUE'' WHEN ''P'' THEN N''PROCEDURE'' WHEN ''V'' THEN N''VIEW''
              WHEN ''TR'' THEN N''TRIGGER'' WHEN ''IF'' THEN N''FUNCTION'' WHEN ''TF'' THEN N''FUNCTION'' WHEN ''FN'' THEN N''FUNCTION'' END, N'''') <> k.Kind
   OR (NOT (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N''Redial.made'')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N''%* Redial [0-9]%, configuration %''))
       AND NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                       WHERE q.object_id = o.object_id
                         AND EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = OBJECT_ID(q.activation_procedure, N''P'')
                    AND sm.[definition] LIKE N''%* Redial [0-9]%, configuration %'')))
ORDER BY o.name;

INSERT INTO @foreign (Shown)
SELECT CONCAT(N''type '', N''[etl].'', QUOTENAME(t.name))
FROM sys.types AS t
WHERE t.schema_id = SCHEMA_ID(N''etl'')
  AND t.name IN (N''MessageBatch'', N''ReceivedBatch'')
  AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N''Redial.made'');

SET @foreigners = (SELECT COUNT(*) FROM @foreign);
WHILE @next <= 5 AND @next <= @foreigners
BEGIN
    SELECT @names = @names + CASE @next WHEN 1 THEN N'''' ELSE N'', '' END + LEFT(f.Shown, 200) FROM @foreign AS f WHERE f.Ordinal = @next;
    SET @next = @next + 1;
END;
IF @foreigners > 0
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50208, CONCAT(N''There already, and not made by Redial: '', @names, CASE WHEN @foreigners > 5 THEN CONCAT(N'' and '', @foreigners - 5, N'' more'') ELSE N'''' END,
        N''. A deployment would replace it and a removal drop it.''),
        N''a schema of its own for configuration etl ([schema] in its file), render, deploy; or rename what is there. Only if it is Redial''''s and has lost its mark: EXECUTE [etl].[usp_Mark] N''''TABLE'''', N''''its name''''; (or TYPE).'');

/* -- 7  Message types, contract and services are the whole database''s. Ours may share a type or a contract
         with others, who keep its validation; a contract cannot be altered; a service is one''s own. Names
         byte for byte (F-376) ------------------------------------------------------------------------- */
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N''//redial/etl/event'' AND mt.validation <> ''N'')
   AND (NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''//redial/etl/event'')
                 AND ep.name = N''Redial.made'')
        OR EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''//redial/etl/event'')
                 AND ep.name LIKE N''Redial.user.%'' AND ep.name <> CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl''))))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50193, N''Message type ''''//redial/etl/event'''' has another validation in this database, and somebody else uses it.'', N''use its validation, or a type of another name.'');
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N''EndOfStream'' AND mt.validation <> ''E'')
   AND (NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''EndOfStream'')
                 AND ep.name = N''Redial.made'')
        OR EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 15   /* MESSAGE TYPE */
                 AND ep.major_id = (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''EndOfStream'')
                 AND ep.name LIKE N''Redial.user.%'' AND ep.name <> CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl''))))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50193, N''Message type ''''EndOfStream'''' has another validation in this database, and somebody else uses it.'', N''use its validation, or a type of another name.'');

INSERT INTO @found (Number, Problem, NextStep)
SELECT TOP (1) 50192, CONCAT(N''Message type '''''', t.Name, N'''''' is not in the contract ''''//redial/etl/contract'''' of this database, and a contract cannot be altered.''),
    N''give contract.name a new value and list the old one in contract.previous; then deploy.''
FROM (VALUES (N''//redial/etl/event'', 0), (N''EndOfStream'', 0)) AS t(Name, IsAnswer)
INNER JOIN sys.service_contracts AS sc ON sc.name COLLATE Latin1_General_BIN2 = N''//redial/etl/contract''
WHERE NOT EXISTS (SELECT 1
                  FROM sys.service_contract_message_usages AS u
                  INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id
                  WHERE u.service_contract_id = sc.service_contract_id
                    AND mt.name = t.Name COLLATE Latin1_General_BIN2
                    AND (u.is_sent_by_target = 1 OR t.IsAnswer = 0)
                    AND (u.is_sent_by_initiator = 1 OR t.IsAnswer = 1));

IF EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'')
                 AND ep.name = CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl'')))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50194, N''Service ''''//redial/etl/initiator'''' is in this database already and was not made by a deployment of schema ''''etl''''.'', N''choose another name for it in [services].'');

IF EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target'')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target'')
                 AND ep.name = CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl'')))
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50194, N''Service ''''//redial/etl/target'''' is in this database already and was not made by a deployment of schema ''''etl''''.'', N''choose another name for it in [services].'');

/* By a text of its own, as above. */
DECLARE @module nvarchar(400) = NULL;
IF COL_LENGTH(N''[etl].[Setting]'', N''Name'') IS NOT NULL AND COL_LENGTH(N''[etl].[Setting]'', N''Value'') IS NOT NULL
    EXECUTE sys.sp_executesql N''SELECT @module = st.Value FROM [etl].[Setting] AS st WHERE st.Name = N''''roles.module'''';'',
        N''@module nvarchar(400) OUTPUT'', @module = @module OUTPUT;
IF @module <> N''etl_module''
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50195, N''The installed procedures of schema ''''etl'''' run as another user than roles.module says, and it owns the services.'',
        N''uninstall, then deploy (data stays).'');

/* -- 8  Has a later version been here? Its migrations have changed tables in a way this script knows
         nothing of. After its own uninstall.sql this one works: migrations only add (35_migrations) ----- */
DECLARE @later nvarchar(200) = NULL;
IF COL_LENGTH(N''[etl].[Migration]'', N''Number'') IS NOT NULL
   AND COL_LENGTH(N''[etl].[Migration]'', N''Name'') IS NOT NULL
   AND COL_LENGTH(N''[etl].[DeploymentHistory]'', N''Version'') IS NOT NULL
    EXECUTE sys.sp_executesql
        N''SELECT TOP (1) @later = CONCAT(m.Number, N'''' '''', m.Name, N'''' (version '''', h.Version, N'''')'''') FROM [etl].[Migration] AS m OUTER APPLY (SELECT TOP (1) dh.Version FROM [etl].[DeploymentHistory] AS dh ORDER BY dh.DeploymentId DESC) AS h WHERE m.Number > 0 AND ISNULL(h.Version, N'''''''') <> N''''uninstalled'''' ORDER BY m.Number DESC;'',
        N''@later nvarchar(200) OUTPUT'', @later = @later OUTPUT;
IF @later IS NOT NULL
    INSERT INTO @found (Number, Problem, NextStep)
    VALUES (50225, CONCAT(N''A later version of Redial is installed in schema [etl]: its migration '', @later,
        N'' is unknown to this script, 0.1.0.''),
        N''deploy the later version; or run its uninstall.sql (data stays), then this script.'');


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
    SET @refusal = CASE @count WHEN 1 THEN N'''' ELSE CONCAT(@count, N'' things are in the way, and nothing was done.'') END;
    WHILE @ordinal < @count
    BEGIN
        SELECT TOP (1) @ordinal = f.Ordinal,
            @line = CASE @count WHEN 1 THEN CONCAT(f.Problem, N'' Nothing was done. Next: '', f.NextStep)
                                ELSE CONCAT(N'' ('', f.Ordinal, N'') '', f.Problem, N'' Next: '', f.NextStep) END
        FROM @found AS f
        WHERE f.Ordinal > @ordinal
        ORDER BY f.Ordinal;
        IF @count > 1
            PRINT @line;
        IF @fit = @ordinal - 1 AND LEN(@refusal) + LEN(@line) <= 1900
            SELECT @refusal = CONCAT(@refusal, @line), @fit = @ordinal;
    END;
    IF @fit < @count
        SET @refusal = CONCAT(@refusal, CASE @fit WHEN 0 THEN LEFT(@line, 1900) ELSE CONCAT(N'' '', @count - @fit, N'' more are printed above.'') END);
    SET @refusal = REPLACE(@refusal, N''%'', N''%%'');      /* F-133 */
    THROW @number, @refusal, 127;       /* sqlcmd ends at state 127: an old server would refuse the rest by its grammar (F-493) */
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'10_broker.option.sql', 4, NULL, NULL,
N'/* Service Broker must be on. ENABLE_BROKER keeps the broker''s guid and needs the database for
   itself (F-101). database.enable_broker says how it may come by that, once, where the broker is off:
   no_wait gives up when anybody else is in the database (05_preflight names them); immediate cuts every
   other session off; wait lets them end, however long that takes (ALTER DATABASE heeds no LOCK_TIMEOUT),
   and whoever comes meanwhile may queue behind it; with never this script is not there.
   A restored copy beside its original is refused (9772): only you can know whether it may have
   NEW_BROKER, which deletes its conversations. Managed Instance (engine edition 8) has it on and
   refuses the statement (F-102), so it is issued only where it is off and may be switched. */
IF CONVERT(int, SERVERPROPERTY(N''EngineEdition'')) <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0)
BEGIN
    ALTER DATABASE CURRENT SET ENABLE_BROKER WITH NO_WAIT;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'20_01_module.user.sql', 4, NULL, NULL,
N'/* The one principal every procedure of this configuration runs as: a user nobody can log in with.
   It owns the schema and the services, so ownership gives it nearly all it needs and the application
   is granted EXECUTE on usp_Send alone. One transaction: what is made is marked as made (F-190). */
DECLARE @property int;
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF DATABASE_PRINCIPAL_ID(N''etl_module'') IS NULL
BEGIN
    CREATE USER [etl_module] WITHOUT LOGIN;
    EXECUTE @property = sys.sp_addextendedproperty @name = N''Redial.made'', @value = N''etl'',
        @level0type = N''USER'', @level0name = N''etl_module'';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
END;
/* In no role: whoever may ALTER one of its procedures has its rights. An earlier choice, or somebody, may
   have made it a member of db_owner. With a signature that waits for the signature, in 79_code_signing. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N''etl_module'')
                 AND ep.name = N''Redial.db_owner'')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N''Redial.db_owner'',
        @level0type = N''USER'', @level0name = N''etl_module'';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
END;
IF IS_ROLEMEMBER(N''db_owner'', N''etl_module'') = 1
BEGIN
    ALTER ROLE [db_owner] DROP MEMBER [etl_module];
    PRINT N''User [etl_module] is no member of db_owner any more: roles.module_is_db_owner = false. No procedure of ours needs it on a message''''s way; a trigger or a hook of yours may need grants.'';
END;
COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'20_02_schema.schema.sql', 4, NULL, NULL,
N'IF SCHEMA_ID(N''etl'') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    EXECUTE sys.sp_executesql
        N''CREATE SCHEMA [etl] AUTHORIZATION [etl_module];'';
    EXECUTE @property = sys.sp_addextendedproperty @name = N''Redial.made'', @value = N''etl'',
        @level0type = N''SCHEMA'', @level0name = N''etl'';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
    COMMIT TRANSACTION;
END
/* A schema that was there before keeps its owner; the module user needs its objects all the same.
   Only then: a grant to the owner itself is refused with message 4624 (F-140). */
ELSE IF EXISTS (SELECT 1 FROM sys.schemas AS s
                WHERE s.name = N''etl''
                  AND s.principal_id <> DATABASE_PRINCIPAL_ID(N''etl_module''))
BEGIN
    GRANT CONTROL ON SCHEMA::[etl] TO [etl_module];
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'20_03_usp_Mark.procedure.sql', 4, N'procedure', N'[etl].[usp_Mark]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_Mark]
    @kind nvarchar(30),     /* TABLE, QUEUE, TYPE of this schema; MESSAGE TYPE, CONTRACT, SERVICE, USER (a role too) */
    @name sysname,
    @made bit = 1           /* 0: it may have been there before; this configuration uses it */
AS
/* Redial 0.1.0, configuration etl.
   For deployments only. Marks what one has made (Redial.made) and, on what configurations can share, that
   this one uses it (Redial.user.<id of its schema>). Called in the transaction that makes the object: a
   mark that cannot be set ends both. sp_addextendedproperty raises and returns, which ends no batch,
   XACT_ABORT or not (F-361), so its return code is asked for. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @property int;
    DECLARE @user sysname = CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl''));
    DECLARE @class int;
    DECLARE @id int;
    DECLARE @sql nvarchar(400);
    DECLARE @used TABLE (Found int NOT NULL);

    IF @kind IN (N''TABLE'', N''QUEUE'', N''TYPE'')
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N''Redial.made'', @value = N''etl'',
            @level0type = N''SCHEMA'', @level0name = N''etl'', @level1type = @kind, @level1name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
        RETURN;
    END;

    IF @made = 1
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N''Redial.made'', @value = N''etl'',
            @level0type = @kind, @level0name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
    END;

    /* Marked by an earlier deployment? Names of the broker''s objects are compared byte for byte (F-376). */
    SELECT @class = CASE @kind WHEN N''USER'' THEN 4 WHEN N''MESSAGE TYPE'' THEN 15 WHEN N''CONTRACT'' THEN 16 ELSE 17 END,
        @id = CASE @kind
            WHEN N''USER'' THEN DATABASE_PRINCIPAL_ID(@name)
            WHEN N''MESSAGE TYPE'' THEN (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name)
            WHEN N''CONTRACT'' THEN (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name)
            ELSE (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name) END;
    /* A text of its own, of three numbers: tools that read a schema from its script do not know this view. */
    SET @sql = CONCAT(N''SELECT 1 FROM sys.extended_properties AS ep WHERE ep.name = N'''''', @user, N'''''' AND ep.class = '', @class,
        N'' AND ep.major_id = '', ISNULL(@id, 0), N'';'');
    INSERT INTO @used (Found) EXECUTE (@sql);
    IF EXISTS (SELECT 1 FROM @used)
        RETURN;
    EXECUTE @property = sys.sp_addextendedproperty @name = @user, @value = N''etl'',
        @level0type = @kind, @level0name = @name;
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'20_04_roles.role.sql', 4, NULL, NULL,
N'/* Roles, and the module user: configurations may share them, so each leaves its own mark, and the last
   one out drops what was made. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
EXECUTE [etl].[usp_Mark] N''USER'', N''etl_module'', @made = 0;
IF DATABASE_PRINCIPAL_ID(N''etl_sender'') IS NULL
BEGIN
    CREATE ROLE [etl_sender];
    EXECUTE [etl].[usp_Mark] N''USER'', N''etl_sender'';
END
ELSE
    EXECUTE [etl].[usp_Mark] N''USER'', N''etl_sender'', @made = 0;
IF DATABASE_PRINCIPAL_ID(N''etl_operator'') IS NULL
BEGIN
    CREATE ROLE [etl_operator];
    EXECUTE [etl].[usp_Mark] N''USER'', N''etl_operator'';
END
ELSE
    EXECUTE [etl].[usp_Mark] N''USER'', N''etl_operator'', @made = 0;
IF DATABASE_PRINCIPAL_ID(N''etl_reader'') IS NULL
BEGIN
    CREATE ROLE [etl_reader];
    EXECUTE [etl].[usp_Mark] N''USER'', N''etl_reader'';
END
ELSE
    EXECUTE [etl].[usp_Mark] N''USER'', N''etl_reader'', @made = 0;
COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_ConversationLog.table.sql', 4, N'table', N'[etl].[ConversationLog]',
N'/* One row per dialog this side began: without it nobody can audit what was sent.
   Lock rule: the sender only inserts the row of a dialog it began in the same transaction; every
   later change is made by a transaction that owns the dialog''s conversation group. So a row of this
   table is never waited for while its owner waits for the group (F-127). */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[ConversationLog]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[ConversationLog]
    (
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NULL,
        ResendOf uniqueidentifier NULL,
        BegunUtc datetime2(3) NOT NULL CONSTRAINT [DF_ConversationLog_BegunUtc] DEFAULT (SYSUTCDATETIME()),
        EndOfStreamUtc datetime2(3) NULL,
        EndedUtc datetime2(3) NULL,
        Messages bigint NULL,
        Resent bigint NULL,
        DeadLettered bigint NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        CONSTRAINT [PK_ConversationLog] PRIMARY KEY CLUSTERED (Handle)
            WITH (ALLOW_PAGE_LOCKS = OFF)       /* F-127 argues row by row */
    );
    ALTER TABLE [etl].[ConversationLog] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''ConversationLog'';
    COMMIT TRANSACTION;
END;
/* From a copy to its dialog; a table that was there before has none yet. */
IF INDEXPROPERTY(OBJECT_ID(N''[etl].[ConversationLog]'', N''U''), N''IX_ConversationLog_ConversationId'', ''IndexID'') IS NULL
    CREATE NONCLUSTERED INDEX [IX_ConversationLog_ConversationId] ON [etl].[ConversationLog] (ConversationId)
        WITH (ALLOW_PAGE_LOCKS = OFF);
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_DeadLetter.table.sql', 4, N'table', N'[etl].[DeadLetter]',
N'/* Messages that were neither landed nor resent: byte-exact, with the code and the sequence. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[DeadLetter]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeadLetter]
    (
        DeadLetterId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeadLetter_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Side nvarchar(10) NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NULL,
        Body varbinary(max) NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        HandledUtc datetime2(3) NULL,           /* this and the rest: what an operator did with it */
        HandledBy nvarchar(128) NULL,
        Handling nvarchar(10) NULL,
        HandlingReason nvarchar(400) NULL,
        CONSTRAINT [PK_DeadLetter] PRIMARY KEY CLUSTERED (DeadLetterId)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''DeadLetter'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_DeploymentAttempt.table.sql', 4, N'table', N'[etl].[DeploymentAttempt]',
N'/* What redial deploy and redial rollback have tried: a row before the first change (at a first installation
   behind this table), its outcome afterwards. One that is still "running" while nobody holds the lock of
   deployments was cut off; the next calls it "abandoned". The last 200 are kept. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[DeploymentAttempt]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeploymentAttempt]
    (
        AttemptId int IDENTITY (1, 1) NOT NULL,
        StartedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentAttempt_StartedUtc] DEFAULT (SYSUTCDATETIME()),
        EndedUtc datetime2(3) NULL,
        Outcome nvarchar(10) NOT NULL CONSTRAINT [DF_DeploymentAttempt_Outcome] DEFAULT (N''running''),
        What nvarchar(20) NOT NULL,
        StartedBy nvarchar(128) NOT NULL CONSTRAINT [DF_DeploymentAttempt_StartedBy] DEFAULT (ORIGINAL_LOGIN()),
        HostName nvarchar(128) NULL CONSTRAINT [DF_DeploymentAttempt_HostName] DEFAULT (HOST_NAME()),
        ToolVersion nvarchar(30) NOT NULL,
        SourceRevision nvarchar(100) NULL,
        HashBefore char(64) NULL,
        HashAfter char(64) NOT NULL,
        PlannedChanges nvarchar(max) NULL,
        Message nvarchar(2048) NULL,
        CONSTRAINT [PK_DeploymentAttempt] PRIMARY KEY CLUSTERED (AttemptId)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''DeploymentAttempt'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_DeploymentHistory.table.sql', 4, N'table', N'[etl].[DeploymentHistory]',
N'SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[DeploymentHistory]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeploymentHistory]
    (
        DeploymentId int IDENTITY (1, 1) NOT NULL,
        DeployedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentHistory_DeployedUtc] DEFAULT (SYSUTCDATETIME()),
        DeployedBy nvarchar(128) NOT NULL CONSTRAINT [DF_DeploymentHistory_DeployedBy] DEFAULT (ORIGINAL_LOGIN()),
        ConfigName nvarchar(128) NOT NULL,
        Version nvarchar(30) NOT NULL,
        ContentHash char(64) NOT NULL,
        CONSTRAINT [PK_DeploymentHistory] PRIMARY KEY CLUSTERED (DeploymentId)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''DeploymentHistory'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_DeploymentText.table.sql', 4, N'table', N'[etl].[DeploymentText]',
N'/* The files of the last ten deployments, for redial rollback: a JSON object of texts by name, compressed with
   GZIP, which DECOMPRESS reads. ContentHash is that of DeploymentHistory. Known is what the deployment found
   around it and no file makes (options of the database, its triggers, rights on it), for redial verify. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[DeploymentText]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeploymentText]
    (
        ContentHash char(64) NOT NULL,
        KeptUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentText_KeptUtc] DEFAULT (SYSUTCDATETIME()),
        Files varbinary(max) NOT NULL,
        Known nvarchar(max) NULL,
        CONSTRAINT [PK_DeploymentText] PRIMARY KEY CLUSTERED (ContentHash)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''DeploymentText'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_ErrorLog.table.sql', 4, N'table', N'[etl].[ErrorLog]',
N'/* What went wrong and what to do next. Activated procedures write here instead of RAISERROR WITH
   LOG, which their principal may not use (2778, F-117). */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[ErrorLog]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[ErrorLog]
    (
        ErrorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_ErrorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        ProcedureName nvarchar(128) NOT NULL,
        ConversationHandle uniqueidentifier NULL,
        MessageSequence bigint NULL,
        ErrorNumber int NULL,
        ErrorLine int NULL,
        ErrorMessage nvarchar(4000) NULL,
        CONSTRAINT [PK_ErrorLog] PRIMARY KEY CLUSTERED (ErrorLogId)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''ErrorLog'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_Gate.table.sql', 4, N'table', N'[etl].[Gate]',
N'/* The drain gate: one row. Closed, usp_Send refuses (50102). A sender reads it after it holds what a
   drain will ask for (its row R), so a sender that saw it open is finished before the drain is. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[Gate]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Gate]
    (
        ConfigId int NOT NULL,
        IsOpen bit NOT NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Gate_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        ChangedBy nvarchar(128) NOT NULL CONSTRAINT [DF_Gate_ChangedBy] DEFAULT (ORIGINAL_LOGIN()),
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_Gate] PRIMARY KEY CLUSTERED (ConfigId)
    );
    ALTER TABLE [etl].[Gate] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''Gate'';
    COMMIT TRANSACTION;
END;
IF NOT EXISTS (SELECT 1 FROM [etl].[Gate] AS g WHERE g.ConfigId = 1)
BEGIN
    INSERT INTO [etl].[Gate] (ConfigId, IsOpen)
    VALUES (1, 1);
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_IdleWatch.table.sql', 4, N'table', N'[etl].[IdleWatch]',
N'/* What usp_RetireIdle saw: how far each dialog had come, and since when it has not moved. So that no
   send has to write down when it was: the server counts a dialog''s messages anyway (F-171). Only
   usp_RetireIdle reads and writes it. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[IdleWatch]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[IdleWatch]
    (
        Handle uniqueidentifier NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NOT NULL CONSTRAINT [DF_IdleWatch_SinceUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_IdleWatch] PRIMARY KEY CLUSTERED (Handle)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''IdleWatch'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_Inbox.table.sql', 4, N'table', N'[etl].[Inbox]',
N'/* Message ids that have landed (delivery = exactly_once): a repeat is counted here and dropped. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[Inbox]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Inbox]
    (
        MessageId uniqueidentifier NOT NULL,
        ReceivedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Inbox_ReceivedUtc] DEFAULT (SYSUTCDATETIME()),
        Repeats int NOT NULL CONSTRAINT [DF_Inbox_Repeats] DEFAULT (0),
        CONSTRAINT [PK_Inbox] PRIMARY KEY CLUSTERED (MessageId)
            WITH (ALLOW_PAGE_LOCKS = OFF)       /* F-165 argues row by row */
    );
    /* For the purge alone. No reader touches an entry but with its own row (F-165). */
    CREATE NONCLUSTERED INDEX [IX_Inbox_ReceivedUtc]
        ON [etl].[Inbox] (ReceivedUtc)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [etl].[Inbox] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''Inbox'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_Landing.table.sql', 4, N'table', N'[etl].[Landing]',
N'/* What arrived, in full: user messages and the EndOfStream, EndDialog and Error rows too.
   Insert-only. A rowversion is given once, at the insert, and never changes here, so it is both the
   clustered key and the range readers ask for (rows with from <= RowVersion < mark). It is no order:
   rows of one batch may get theirs in any (F-365). ConversationId, MessageSequence is the order sent.
   Body is byte-exact; NULL stands for a message without a body and for an empty one, which the
   broker does not tell apart (F-107).
   ConversationKey, KeySequence and MessageId are filled by the choices that carry them. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[Landing]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Landing]
    (
        RowVersion rowversion NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        LandedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Landing_LandedUtc] DEFAULT (SYSUTCDATETIME()),
        ConversationKey nvarchar(200) NULL,
        KeySequence bigint NULL,
        MessageId uniqueidentifier NULL,
        SentUtc datetime2(3) NULL,              /* this and the rest: out of the envelope */
        SenderLogin nvarchar(128) NULL,
        SenderApp nvarchar(128) NULL,
        SenderHost nvarchar(128) NULL,
        CONSTRAINT [PK_Landing] PRIMARY KEY CLUSTERED (RowVersion)
    );
    /* Every reader inserts at the end of this key. From 2019 on the server lets them take turns there
       (CREATE INDEX page); before, the option is a syntax error, so it stands in a text of its own. */
    IF CONVERT(int, SERVERPROPERTY(N''EngineEdition'')) = 8
       OR CONVERT(int, PARSENAME(CONVERT(nvarchar(128), SERVERPROPERTY(N''ProductVersion'')), 4)) >= 15
        EXECUTE sys.sp_executesql N''ALTER INDEX [PK_Landing] ON [etl].[Landing] SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON);'';
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''Landing'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_LandingAcknowledged.table.sql', 4, N'table', N'[etl].[LandingAcknowledged]',
N'/* How far each reader of Landing has got: rows below the least of these marks may be purged. UpTo is
   a mark as readers take it (rows with RowVersion < UpTo are done with), not the last row read. Reader
   usp_PurgeLanding is the purge itself: rows below its mark may be gone, which a reader compares. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[LandingAcknowledged]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[LandingAcknowledged]
    (
        Reader nvarchar(128) NOT NULL,
        UpTo binary(8) NOT NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_LandingAcknowledged_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_LandingAcknowledged] PRIMARY KEY CLUSTERED (Reader)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''LandingAcknowledged'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_Migration.table.sql', 4, N'table', N'[etl].[Migration]',
N'/* Which numbered migrations (35_) have changed the tables of this schema. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[Migration]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Migration]
    (
        Number int NOT NULL,
        Name nvarchar(128) NOT NULL,
        AppliedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Migration_AppliedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Migration] PRIMARY KEY CLUSTERED (Number)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''Migration'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_OperatorLog.table.sql', 4, N'table', N'[etl].[OperatorLog]',
N'/* What operators did, who and why: gate closed, dead letters replayed or purged, dialogs ended. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[OperatorLog]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[OperatorLog]
    (
        OperatorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_OperatorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Login nvarchar(128) NOT NULL CONSTRAINT [DF_OperatorLog_Login] DEFAULT (ORIGINAL_LOGIN()),
        Action nvarchar(60) NOT NULL,
        Detail nvarchar(3000) NULL,
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_OperatorLog] PRIMARY KEY CLUSTERED (OperatorLogId)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''OperatorLog'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_OwnedObject.table.sql', 4, N'table', N'[etl].[OwnedObject]',
N'/* Objects this configuration created that cannot carry a mark (20_security/marks.inc.j2): Agent jobs,
   broker priorities. Uninstall drops these and nothing else of their kinds. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[OwnedObject]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[OwnedObject]
    (
        Kind nvarchar(30) NOT NULL,
        Name nvarchar(128) NOT NULL,
        CreatedUtc datetime2(3) NOT NULL CONSTRAINT [DF_OwnedObject_CreatedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_OwnedObject] PRIMARY KEY CLUSTERED (Kind, Name)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''OwnedObject'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_PoisonAttempt.table.sql', 4, N'table', N'[etl].[PoisonAttempt]',
N'/* How often a queue row made its transaction roll back. A row that reached the limit is
   dead-lettered unprocessed by whoever receives it next, so no row can bring the queue to the five
   rollbacks that switch it off (F-118). */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[PoisonAttempt]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[PoisonAttempt]
    (
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Attempts int NOT NULL,
        LastUtc datetime2(3) NOT NULL,
        ErrorNumber int NULL,
        ErrorMessage nvarchar(3000) NULL,
        CONSTRAINT [PK_PoisonAttempt] PRIMARY KEY CLUSTERED
            (ConversationHandle, MessageSequence, MessageType)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''PoisonAttempt'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_SendLedger.table.sql', 4, N'table', N'[etl].[SendLedger]',
N'/* What has been sent in pieces that may be run again (a Spark job''s partitions): one row a piece, made
   in the transaction of its messages, so a row tells that all of them went out, and no row that none
   did. Read and written by usp_BeginPartition and usp_EndPartition only. JobId is compared byte by
   byte. MessageCount and ContentHash are NULL inside that transaction alone. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[SendLedger]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[SendLedger]
    (
        JobId nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        BatchId bigint NOT NULL,
        PartitionId int NOT NULL,
        Chunk int NOT NULL,
        MessageCount bigint NULL,
        ContentHash binary(32) NULL,
        SentUtc datetime2(3) NOT NULL CONSTRAINT [DF_SendLedger_SentUtc] DEFAULT (SYSUTCDATETIME()),
        SentBy nvarchar(128) NOT NULL CONSTRAINT [DF_SendLedger_SentBy] DEFAULT (ORIGINAL_LOGIN()),
        CONSTRAINT [PK_SendLedger] PRIMARY KEY CLUSTERED (JobId, BatchId, PartitionId, Chunk)
    );
    /* For the purge alone. No sender changes SentUtc once its row is there. */
    CREATE NONCLUSTERED INDEX [IX_SendLedger_SentUtc]
        ON [etl].[SendLedger] (SentUtc);
    ALTER TABLE [etl].[SendLedger] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''SendLedger'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_SentMessage.table.sql', 4, N'table', N'[etl].[SentMessage]',
N'/* The sender''s copy of every message that has not landed yet, byte-exact: what is sent again when a
   dialog is ended by whoever and however. Written by the transaction that sends; deleted by the one that
   lands the message, dead-letters it, or sends it again (docs/decisions/0001-copies.md).
   MessageSequence counts the messages of the dialog from 0, as the broker does (F-171); a copy goes for the
   message that has its number and its content, never for its number alone (F-461).
   Lock rule: a row belongs to the transaction that inserts it, and from its commit on to whoever holds
   the conversation group of the dialog''s target. So nobody waits for a row here (F-461).
   No trigger, foreign key or check may be put on this table: OUTPUT INTO refuses them (331 to 333). */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[SentMessage]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[SentMessage]
    (
        ConversationId uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        SentUtc datetime2(3) NOT NULL CONSTRAINT [DF_SentMessage_SentUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_SentMessage] PRIMARY KEY CLUSTERED (ConversationId, MessageSequence)
    );
    ALTER TABLE [etl].[SentMessage] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''SentMessage'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_SessionConversations.table.sql', 4, N'table', N'[etl].[SessionConversations]',
N'/* Which dialog a key sends on. The row is the token of the dialog: whoever deletes it may send
   EndOfStream, once (F-128).
   - Clustered key of 404 bytes at most: four service-sized columns (1,024 bytes) would not fit the
     900 bytes of a clustered key.
   - ConversationKey has the database''s collation, so that joins with other tables raise no 468; keys
     it holds equal share a dialog, which only lets their senders wait for each other.
   - Handle is unique apart from the key, so it has an index and locks of its own (F-120). That
     index is never locked before the clustered key: see usp_RecycleConversation.
   - No page locks, no escalation: a lock on this table is a lock on one row (F-121).
   - No trigger, foreign key or indexed view may ever be put on this table: each takes locks that
     the proof in docs/facts.md (F-127) does not know. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[SessionConversations]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[SessionConversations]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,   /* of the dialog; NULL: a placeholder, no dialog yet */
        Sent bigint NOT NULL                    /* messages sent on it: the next one''s number */
            CONSTRAINT [DF_SessionConversations_Sent] DEFAULT (0),
        BegunUtc datetime2(3) NULL,             /* pool: NULL stands for an unused slot */
        RecycleAtUtc datetime2(3) NULL,         /* aged_out: replaced by the first send after this */
        RecycleAtMessages bigint NULL,          /* aged_out: or after this many messages */
        TransactionId bigint NULL,              /* pool: who took the slot last */
        CONSTRAINT [PK_SessionConversations] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    CREATE UNIQUE NONCLUSTERED INDEX [UX_SessionConversations_Handle]
        ON [etl].[SessionConversations] (Handle)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [etl].[SessionConversations] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''SessionConversations'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'30_Setting.table.sql', 4, N'table', N'[etl].[Setting]',
N'/* The choices installed now: what a later deployment compares itself with. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[Setting]'', N''U'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Setting]
    (
        Name nvarchar(60) NOT NULL,
        Value nvarchar(400) NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Setting_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Setting] PRIMARY KEY CLUSTERED (Name)
    );
    EXECUTE [etl].[usp_Mark] N''TABLE'', N''Setting'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'38_change.guard.sql', 4, NULL, NULL,
N'/* Where a choice differs from the installed one, the change: gate closed, every dialog ended on both
   sides, rows taken away. The procedures that follow find nothing in flight that they would read otherwise than it was written,
   and 93_settings opens the gate again. Choices that only new dialogs or readers see (encryption,
   lifetime, timer, batch, readers, processing, a contract''s new version) drain nothing.
   The rule of the gate: a drain that does not finish opens it again, for nothing has been replaced. A
   deployment that stops later leaves it closed until it is run again, with the old choices or the new. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists below would be cut (F-331) */

DECLARE @message nvarchar(2048);

/* -- 1  What differs from the installed choices ------------------------------------------------- */
DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
DECLARE @changed nvarchar(1000) = N'''';
DECLARE @differences TABLE (DifferenceId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Difference nvarchar(1000) NOT NULL);
DECLARE @difference int = 0;
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N''config_id'', N''1'', 1),
    (N''conversation.key'', N''pool'', 1),
    (N''conversation.recycle'', N''aged_out'', 1),
    (N''conversation.timer_strategy'', N''two_phase'', 1),
    (N''conversation.order'', N''conversation'', 1),
    (N''conversation.delivery'', N''exactly_once'', 1),
    (N''conversation.copies'', N''until_landed'', 1),
    (N''envelope.who'', N''0'', 1),
    (N''contract.end_of_stream'', N''EndOfStream'', 1),
    (N''services.initiator'', N''//redial/etl/initiator'', 1),
    (N''services.target'', N''//redial/etl/target'', 1),
    (N''queues.initiator'', N''InitiatorQueue'', 1),
    (N''queues.target'', N''TargetQueue'', 1),
    (N''target.database'', N'''', 1),
    (N''pool.size'', N''16'', 0),
    (N''target.processing'', N''land'', 0),
    (N''conversation.encryption'', N''0'', 0),
    (N''conversation.lifetime_seconds'', N''604800'', 0),
    (N''contract.name'', N''//redial/etl/contract'', 0),
    (N''roles.module'', N''etl_module'', 0);

INSERT INTO @differences (Difference)
SELECT CONCAT(w.Name, N'' '', ISNULL(st.Value, N''(unknown)''), N'' -> '', w.Value, N''; '')
FROM @wanted AS w
LEFT OUTER JOIN [etl].[Setting] AS st ON st.Name = w.Name
WHERE w.Drains = 1
  AND (st.Value <> w.Value COLLATE Latin1_General_BIN2     /* service names: byte for byte (F-376) */
       /* An installation from before this choice: its dialogs know nothing of it. */
       OR (st.Name IS NULL AND EXISTS (SELECT 1 FROM [etl].[Setting] AS k WHERE k.Name = N''conversation.key'')))
ORDER BY w.Name;
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N''//redial/etl/event'' AND mt.validation <> ''N'')
    INSERT INTO @differences (Difference) VALUES (N''validation of //redial/etl/event; '');
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N''EndOfStream'' AND mt.validation <> ''E'')
    INSERT INTO @differences (Difference) VALUES (N''validation of EndOfStream; '');

/* A version of the contract that is no longer listed: usp_Send will not ask which version a dialog is
   on, so those dialogs go first. */
INSERT INTO @differences (Difference)
SELECT CONCAT(N''contract '', sc.name, N'' no longer listed; '')
FROM sys.service_contracts AS sc
INNER JOIN sys.extended_properties AS ep ON ep.class = 16 AND ep.major_id = sc.service_contract_id
WHERE ep.name = CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl''))
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/contract'')
  AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody''s dialog */
              WHERE ce.service_contract_id = sc.service_contract_id AND ce.state <> ''CD'');

/* One row after the other: SELECT @v = @v + .. over several rows may keep the last one only (F-371). */
WHILE EXISTS (SELECT 1 FROM @differences AS d WHERE d.DifferenceId > @difference)
BEGIN
    SELECT TOP (1) @difference = d.DifferenceId, @changed = LEFT(CONCAT(@changed, d.Difference), 1000)
    FROM @differences AS d
    WHERE d.DifferenceId > @difference
    ORDER BY d.DifferenceId;
END;

IF @changed <> N''''
   /* Else an earlier run has drained and was stopped later: nobody could send since. */
   AND NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'' AND st.Value IN (N''drained'', N''uninstall''))
BEGIN
    /* -- 4  The installed usp_Drain knows the installed choices: gate, dialogs, both sides ---------- */
    PRINT CONCAT(N''Changing with a drain: '', @changed);
    DECLARE @waitSeconds int = ISNULL(TRY_CONVERT(int, SESSION_CONTEXT(N''redial.wait_seconds'')), 60);   /* 0 to 3600 */
    DECLARE @left int = 0;
    DECLARE @said nvarchar(2000) = N'''';
    IF OBJECT_ID(N''[etl].[usp_Drain]'', N''P'') IS NOT NULL
        EXECUTE @left = [etl].[usp_Drain] @reason = N''deployment: change of choices'', @waitSeconds = @waitSeconds, @WhatIf = 0,
            @mark = N''closed'', @said = @said OUTPUT;
    ELSE IF EXISTS (SELECT 1
                    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody''s dialog */
                    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                    INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
                    WHERE q.schema_id = SCHEMA_ID(N''etl'') AND ce.state <> ''CD'')
        SET @left = 2;
    ELSE
    BEGIN
        /* A deployment that stopped before usp_Drain: nobody but its deployer can have sent. */
        BEGIN TRANSACTION;
        UPDATE g
        SET IsOpen = 0, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N''deployment: change of choices''
        FROM [etl].[Gate] AS g
        WHERE g.ConfigId = 1 AND g.IsOpen = 1;
        IF @@ROWCOUNT = 1
           AND NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'')
            INSERT INTO [etl].[Setting] (Name, Value) VALUES (N''deployment.gate'', N''closed'');
        COMMIT TRANSACTION;
    END;
    IF @left = 1
    BEGIN
        SET @message = CONCAT(N''Not drained within '', @waitSeconds, N'' seconds, so the choices stay as they are: '', @changed, @said,
            N''Nothing was changed, and the gate is as it was before. Next: '', N''let those transactions end (or wait longer: EXECUTE sys.sp_set_session_context N''''redial.wait_seconds'''', 600; before this script, up to 3600); look at [etl].[usp_Health], which names what else is in the way and what to call; at [etl].[vw_Unlanded] for messages that have not landed, which EXECUTE [etl].[usp_Resend] sends again'', N''; then deploy again.'');
        SET @message = REPLACE(@message, N''%'', N''%%'');
        THROW 50190, @message, 1;
    END;
    IF @left = 2
    BEGIN
        SET @message = CONCAT(N''[etl].[usp_Drain] is not installed and conversations are open, so nobody can be kept out while this changes: '', @changed,
            N''Nothing was changed. Next: run redial.sql with the installed choices to its end, or end what sends and run uninstall.sql (data stays); then this script again.'');
        SET @message = REPLACE(@message, N''%'', N''%%'');
        THROW 50191, @message, 1;
    END;

    /* From here on a stop leaves the gate closed: what follows replaces procedures. An operator''s own
       closed gate has no mark, and is the operator''s to open. */
    BEGIN TRY
        BEGIN TRANSACTION;
        UPDATE [etl].[Setting] SET Value = N''drained'' WHERE Name = N''deployment.gate'';
        /* lint: allow SB13: every row, and the gate keeps senders out */
        DELETE FROM [etl].[SessionConversations];
        IF OBJECT_ID(N''[etl].[Everlasting]'', N''U'') IS NOT NULL
            DELETE FROM [etl].[Everlasting];
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        /* A deadlock (1205), say: nothing has been replaced, so senders may come in again. */
        IF OBJECT_ID(N''[etl].[usp_ReopenGate]'', N''P'') IS NOT NULL
           AND EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'' AND st.Value = N''closed'')
            EXECUTE [etl].[usp_ReopenGate] @mark = N''closed'';
        THROW;
    END CATCH;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'40_01_message_types.message_type.sql', 4, NULL, NULL,
N'/* Owned by dbo, not by our user: another configuration may share a type and outlive us. One of another
   validation is mended where it is ours alone: 38_change has refused anything else, and has drained (what
   is on its way was validated by the old rule). */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N''//redial/etl/event'')
BEGIN
    CREATE MESSAGE TYPE [//redial/etl/event] AUTHORIZATION [dbo] VALIDATION = NONE;
    EXECUTE [etl].[usp_Mark] N''MESSAGE TYPE'', N''//redial/etl/event'';
END
ELSE
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                   WHERE mt.name COLLATE Latin1_General_BIN2 = N''//redial/etl/event'' AND mt.validation = ''N'')
        ALTER MESSAGE TYPE [//redial/etl/event] VALIDATION = NONE;
    EXECUTE [etl].[usp_Mark] N''MESSAGE TYPE'', N''//redial/etl/event'', @made = 0;
END;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N''EndOfStream'')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream] AUTHORIZATION [dbo] VALIDATION = EMPTY;
    EXECUTE [etl].[usp_Mark] N''MESSAGE TYPE'', N''EndOfStream'';
END
ELSE
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                   WHERE mt.name COLLATE Latin1_General_BIN2 = N''EndOfStream'' AND mt.validation = ''E'')
        ALTER MESSAGE TYPE [EndOfStream] VALIDATION = EMPTY;
    EXECUTE [etl].[usp_Mark] N''MESSAGE TYPE'', N''EndOfStream'', @made = 0;
END;
COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'40_02_contract.contract.sql', 4, NULL, NULL,
N'/* One way: every message is sent by the initiator. Owned by dbo, see the message types. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N''//redial/etl/contract'')
BEGIN
    CREATE CONTRACT [//redial/etl/contract] AUTHORIZATION [dbo]
    (
        [//redial/etl/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    EXECUTE [etl].[usp_Mark] N''CONTRACT'', N''//redial/etl/contract'';
END
ELSE
    EXECUTE [etl].[usp_Mark] N''CONTRACT'', N''//redial/etl/contract'', @made = 0;

/* BEGIN DIALOG needs REFERENCES on the contract (begin-dialog-conversation page); the owner is dbo.
   On the types it makes them visible to usp_AcquireConversation (metadata-visibility-configuration). */
GRANT REFERENCES ON CONTRACT::[//redial/etl/contract] TO [etl_module];
GRANT REFERENCES ON MESSAGE TYPE::[//redial/etl/event] TO [etl_module];
GRANT REFERENCES ON MESSAGE TYPE::[EndOfStream] TO [etl_module];
COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'50_queues.queue.sql', 4, NULL, NULL,
N'/* POISON_MESSAGE_HANDLING stays on with up to four readers: no path of ours rolls a RECEIVE back in normal
   work, so five rollbacks mean a fault that must stop the queue rather than spin (F-118). Five readers or more
   may reach five together when the disk is full (F-488): there it is off. */
SET XACT_ABORT ON;
IF OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE QUEUE [etl].[InitiatorQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE [etl].[usp_Mark] N''QUEUE'', N''InitiatorQueue'';
    COMMIT TRANSACTION;
END;
ELSE IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N''Redial.made''
                 AND ep.major_id = OBJECT_ID(N''[etl].[InitiatorQueue]''))
    EXECUTE [etl].[usp_Mark] N''QUEUE'', N''InitiatorQueue'';      /* taken away by hand */
IF OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ'') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE QUEUE [etl].[TargetQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE [etl].[usp_Mark] N''QUEUE'', N''TargetQueue'';
    COMMIT TRANSACTION;
END;
ELSE IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N''Redial.made''
                 AND ep.major_id = OBJECT_ID(N''[etl].[TargetQueue]''))
    EXECUTE [etl].[usp_Mark] N''QUEUE'', N''TargetQueue'';      /* taken away by hand */
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'60_services.service.sql', 4, NULL, NULL,
N'/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. One on another queue than the configuration
   names is moved: 38_change has drained, so nothing is in the old one. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'')
BEGIN
    CREATE SERVICE [//redial/etl/initiator] AUTHORIZATION [etl_module]
        ON QUEUE [etl].[InitiatorQueue];
    EXECUTE [etl].[usp_Mark] N''SERVICE'', N''//redial/etl/initiator'';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator''
                      AND s.service_queue_id = OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ''))
    ALTER SERVICE [//redial/etl/initiator] ON QUEUE [etl].[InitiatorQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target'')
BEGIN
    CREATE SERVICE [//redial/etl/target] AUTHORIZATION [etl_module]
        ON QUEUE [etl].[TargetQueue] ([//redial/etl/contract]);
    EXECUTE [etl].[usp_Mark] N''SERVICE'', N''//redial/etl/target'';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target''
                      AND s.service_queue_id = OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ''))
    ALTER SERVICE [//redial/etl/target] ON QUEUE [etl].[TargetQueue];
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N''//redial/etl/contract'')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target'' AND sc.name COLLATE Latin1_General_BIN2 = N''//redial/etl/contract'')
    ALTER SERVICE [//redial/etl/target] (ADD CONTRACT [//redial/etl/contract]);
COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'63_priorities.priority.sql', 4, NULL, NULL,
N'/* Level 5 is what conversations have without any priority: one of an earlier choice is removed. */
IF EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N''BROKER PRIORITY'' AND o.Name = N''redial/etl/initiator'')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N''redial/etl/initiator'')
    BEGIN
        DROP BROKER PRIORITY [redial/etl/initiator];
    END;
    DELETE FROM [etl].[OwnedObject] WHERE Kind = N''BROKER PRIORITY'' AND Name = N''redial/etl/initiator'';
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'63_priorities.priority.sql', 14, NULL, NULL,
N'IF EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N''BROKER PRIORITY'' AND o.Name = N''redial/etl/target'')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N''redial/etl/target'')
    BEGIN
        DROP BROKER PRIORITY [redial/etl/target];
    END;
    DELETE FROM [etl].[OwnedObject] WHERE Kind = N''BROKER PRIORITY'' AND Name = N''redial/etl/target'';
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'64_MessageBatch.type.sql', 4, N'type', N'[etl].[MessageBatch]',
N'/* Messages of one call of usp_SendBatch, sent in the order of Ordinal. Every column is wider than what
   may be in it, so that a wrong value gets an error of ours that names its ordinal, and not the
   server''s 8152, which names nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N''etl'') AND tt.name = N''MessageBatch'')
BEGIN
    BEGIN TRANSACTION;
    CREATE TYPE [etl].[MessageBatch] AS TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY CLUSTERED,     /* any numbers, gaps too; each once */
        MessageType nvarchar(256) NULL,                 /* required, as in usp_Send */
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL
    );
    EXECUTE [etl].[usp_Mark] N''TYPE'', N''MessageBatch'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'64_ReceivedBatch.type.sql', 4, N'type', N'[etl].[ReceivedBatch]',
N'/* Rows of one RECEIVE, numbered in queue order, as usp_LandBatch and usp_FindPoison take them. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N''etl'') AND tt.name = N''ReceivedBatch'')
BEGIN
    BEGIN TRANSACTION;
    CREATE TYPE [etl].[ReceivedBatch] AS TABLE
    (
        RowId int IDENTITY (1, 1) NOT NULL PRIMARY KEY CLUSTERED,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL
    );
    EXECUTE [etl].[usp_Mark] N''TYPE'', N''ReceivedBatch'';
    COMMIT TRANSACTION;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_00_ufn_ReadEnvelope.function.sql', 4, N'function', N'[etl].[ufn_ReadEnvelope]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_ReadEnvelope](
    @body varbinary(max)
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration etl */
/* The header usp_Send puts before a body (F-146), and the body: always one row. Bytes, numbers big-endian:
     1-4  the mark ''RDL1''        5-6  length of the header     7-22 message id, zeros for none
    23-30 sequence in the key   31-38 milliseconds since 1970, UTC
    39-46 four lengths in bytes: key, login, program, host; then these four in UTF-16LE.
   Nothing here can raise an error, whatever the bytes are: a body without a whole header comes back as it
   is, with NULL in every other column. */
RETURN
(
    SELECT
        CASE WHEN h.IsWhole = 1 THEN NULLIF(CONVERT(uniqueidentifier, CONVERT(binary(16), SUBSTRING(@body, 7, 16))),
            CONVERT(uniqueidentifier, ''00000000-0000-0000-0000-000000000000'')) END AS MessageId,
        CASE WHEN h.IsWhole = 1 THEN NULLIF(CONVERT(bigint, SUBSTRING(@body, 23, 8)), 0) END AS KeySequence,
        CASE WHEN h.IsWhole = 1 AND n.Sent BETWEEN 0 AND 253402300799999    /* the last moment a datetime2 has */
            THEN DATEADD(millisecond, CONVERT(int, n.Sent % 86400000),
                DATEADD(day, CONVERT(int, n.Sent / 86400000), CONVERT(datetime2(3), ''1970-01-01''))) END AS SentUtc,
        CASE WHEN h.IsWhole = 1 AND n.KeyBytes > 0
            THEN CONVERT(nvarchar(200), SUBSTRING(@body, 47, n.KeyBytes)) END AS ConversationKey,
        CASE WHEN h.IsWhole = 1 AND n.LoginBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes, n.LoginBytes)) END AS SenderLogin,
        CASE WHEN h.IsWhole = 1 AND n.AppBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes + n.LoginBytes, n.AppBytes)) END AS SenderApp,
        CASE WHEN h.IsWhole = 1 AND n.HostBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes + n.LoginBytes + n.AppBytes, n.HostBytes)) END AS SenderHost,
        CASE WHEN ISNULL(h.IsWhole, 0) = 0 THEN @body
            /* By its length: a comparison with 0x takes a body of zero bytes for an empty one (F-167). */
            WHEN DATALENGTH(@body) > n.HeaderBytes
            THEN SUBSTRING(@body, n.HeaderBytes + 1, DATALENGTH(@body) - n.HeaderBytes) END AS Body
    FROM
    (
        SELECT
            CONVERT(int, SUBSTRING(@body, 5, 2)) AS HeaderBytes,
            CONVERT(bigint, SUBSTRING(@body, 31, 8)) AS Sent,
            CONVERT(int, SUBSTRING(@body, 39, 2)) AS KeyBytes,
            CONVERT(int, SUBSTRING(@body, 41, 2)) AS LoginBytes,
            CONVERT(int, SUBSTRING(@body, 43, 2)) AS AppBytes,
            CONVERT(int, SUBSTRING(@body, 45, 2)) AS HostBytes
    ) AS n
    CROSS APPLY
    (
        SELECT CASE WHEN SUBSTRING(@body, 1, 4) = 0x52444C31
                     AND n.HeaderBytes = 46 + n.KeyBytes + n.LoginBytes + n.AppBytes + n.HostBytes
                     AND DATALENGTH(@body) >= n.HeaderBytes
                THEN 1 ELSE 0 END AS IsWhole
    ) AS h
);
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_01_ufn_Conversations.function.sql', 4, N'function', N'[etl].[ufn_Conversations]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_Conversations]()
RETURNS @conversations TABLE
(
    Side nvarchar(10) NOT NULL,             /* initiator or target */
    ConversationHandle uniqueidentifier NOT NULL,
    ConversationId uniqueidentifier NOT NULL,   /* the same on both sides */
    State nvarchar(60) NULL,
    Purpose nvarchar(20) NOT NULL,          /* see below */
    ConversationKey nvarchar(200) NULL,     /* of the initiator''s side */
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
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Behind vw_Conversations. A function, because it may run as the module user: what a catalog view
   shows depends on the rights of whoever reads it, and an operator has none on services and queues (F-172).
   Purpose: in use (a row leads to it), closing (EndOfStream was sent), resend (a private dialog of
   usp_ResendPending or of a replay), target, unknown.
   NOLOCK throughout: whoever watches must neither wait for senders nor make them wait. */
BEGIN
    INSERT INTO @conversations
        (Side, ConversationHandle, ConversationId, State, Purpose, ConversationKey, BegunUtc, AgeSeconds,
         EndOfStreamUtc, Sent, Received, TimerDue, LifetimeUtc, ClosedUntilUtc, Priority)
    SELECT
        CASE WHEN ce.is_initiator = 1 THEN N''initiator'' ELSE N''target'' END,
        ce.conversation_handle, ce.conversation_id, ce.state_desc,
        CASE WHEN ce.is_initiator = 0 THEN N''target''
             WHEN sc.Handle IS NOT NULL THEN N''in use''
             WHEN cl.ResendOf IS NOT NULL THEN N''resend''
             WHEN cl.EndOfStreamUtc IS NOT NULL THEN N''closing''
             ELSE N''unknown'' END,
        ISNULL(sc.ConversationKey, cl.ConversationKey), cl.BegunUtc,
        DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()), cl.EndOfStreamUtc,
        ce.send_sequence, ce.receive_sequence,
        NULLIF(ce.dialog_timer, ''19000101''), ce.lifetime,
        CASE WHEN ce.state = ''CD'' THEN NULLIF(ce.security_timestamp, ''19000101'') END, ce.priority
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER JOIN [etl].[SessionConversations] AS sc WITH (NOLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
        ON sc.Handle = ce.conversation_handle
    LEFT OUTER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'');

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_01_ufn_Leaked.function.sql', 4, N'function', N'[etl].[ufn_Leaked]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_Leaked](
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
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* What usp_EndLeaked would look at: candidates, each of which it checks again under locks. NOLOCK: the
   list waits for nobody, and a dialog that is just being begun is seen with its row.
   GIVE UP: it was sent EndOfStream and nobody is there to answer.
   END ALONE: a target whose sender''s side was ended by hand WITH CLEANUP, of which nobody is told (F-463).
   END UNREACHABLE: it was sent EndOfStream, and the service it leads to does not exist.
   No leaks: unused slots of the pool (BegunUtc NULL), dialogs whose EndOfStream was sent, private
   dialogs of a resend or replay (closed when they were made). */
BEGIN
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N''END''
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')
      AND ce.state IN (''DI'', ''ER'');

    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc,
        CASE WHEN ce.state = ''SO'' THEN N''END UNUSED'' ELSE N''CLOSE'' END
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator''
      AND ce.is_initiator = 1
      AND ce.state IN (''SO'', ''CO'')
      AND NOT EXISTS (SELECT 1
                      FROM [etl].[SessionConversations] AS sc
                          WITH (NOLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                      WHERE sc.Handle = ce.conversation_handle)
      AND NOT EXISTS (SELECT 1
                      FROM [etl].[ConversationLog] AS cl
                          WITH (NOLOCK, FORCESEEK)
                      WHERE cl.Handle = ce.conversation_handle
                        AND cl.EndOfStreamUtc IS NOT NULL);

    /* The target answers within minutes, or an Error says why not: unless its side was ended WITH CLEANUP,
       of which nobody is told. One that waits for its queue or service has a transmission status. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N''GIVE UP''
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator''
      AND ce.is_initiator = 1
      AND ce.state = ''CO''
      AND cl.EndOfStreamUtc < DATEADD(second, -600, SYSUTCDATETIME())
      AND GET_TRANSMISSION_STATUS(ce.conversation_handle) = N''''
      /* Behind a queue that is off a target is not gone, whatever the status says (F-545). */
      AND EXISTS (SELECT 1 FROM sys.service_queues AS tq
                  WHERE tq.object_id = OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ'') AND tq.is_receive_enabled = 1 AND tq.is_enqueue_enabled = 1)
      AND NOT EXISTS (SELECT 1
                      FROM sys.conversation_endpoints AS t WITH (NOLOCK)
                      WHERE t.conversation_id = ce.conversation_id AND t.is_initiator = 0 AND t.state <> ''CD'');

    /* EndOfStream was sent long ago, the server says that it cannot deliver it, and there is no such service
       here. A service that is only missing for now would keep its copies: those are not listed. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N''END UNREACHABLE''
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator''
      AND ce.is_initiator = 1
      AND ce.state IN (''SO'', ''CO'')
      AND cl.EndOfStreamUtc < DATEADD(second, -600, SYSUTCDATETIME())
      AND GET_TRANSMISSION_STATUS(ce.conversation_handle) <> N''''
      AND NOT EXISTS (SELECT 1 FROM sys.services AS f WHERE f.name COLLATE Latin1_General_BIN2 = ce.far_service COLLATE Latin1_General_BIN2)
      AND NOT EXISTS (SELECT 1 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id);

    /* Nothing more will come, and no Error either. HASH: one pass over the view for all of them (F-153). */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N''END ALONE''
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS i WITH (NOLOCK)
        ON i.conversation_id = ce.conversation_id AND i.is_initiator = 1
    WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target''
      AND ce.is_initiator = 0
      AND ce.state = ''CO''
      AND i.conversation_handle IS NULL;

    /* A CLOSED row guards against replays until security_timestamp; 1900 means that was never set,
       and then the row is kept until 30 minutes after the lifetime (F-106). Both are UTC. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N''END WITH CLEANUP''
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')
      AND ce.state = ''CD''
      AND ((ce.security_timestamp > ''19000101'' AND ce.security_timestamp < GETUTCDATE())
           OR (ce.security_timestamp = ''19000101'' AND ce.lifetime < DATEADD(minute, -30, GETUTCDATE())));

    INSERT INTO @leaked (Handle, IsInitiator, State, ConversationKey, Action)
    SELECT TOP (@most) sc.Handle, 1, N''gone'', sc.ConversationKey, N''FREE SLOT''
    FROM [etl].[SessionConversations] AS sc
        /* READPAST: a row in use is no leak. INDEX, FORCESEEK: this configuration''s rows only. */
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
    WHERE sc.ConfigId = 1
      AND sc.BegunUtc IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = sc.Handle);

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_01_ufn_Pending.function.sql', 4, N'function', N'[etl].[ufn_Pending]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_Pending]()
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
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
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
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')
            AND ce.state IN (''SO'', ''CO'', ''DO'')) AS d      /* others have nothing to send */
    OUTER APPLY (SELECT TOP (1) sm.SentUtc
                 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)     /* its rows only */
                 WHERE sm.ConversationId = d.conversation_id
                 ORDER BY sm.MessageSequence) AS o
    WHERE d.TransmissionStatus > N'''';

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_01_ufn_QueuePages.function.sql', 4, N'function', N'[etl].[ufn_QueuePages]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_QueuePages]()
RETURNS @pages TABLE
(
    QueueName nvarchar(128) NOT NULL,
    Pages bigint NULL,                      /* of the rows; bodies of more than 8,000 bytes lie elsewhere */
    FragmentationPercent float NULL
)
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* How many pages each queue takes, and how far they are out of order. Mode LIMITED reads the pages above
   the leaves only: no message, and no lock but an intent lock on the table (F-501). Records and ghosts are
   not counted in that mode; but no page holds less than one row, so far more pages than messages are ghosts
   or empty. A function of its own: where the right to ask is missing, the others still answer. */
BEGIN
    INSERT INTO @pages (QueueName, Pages, FragmentationPercent)
    SELECT q.name, ps.page_count, ps.avg_fragmentation_in_percent
    FROM sys.service_queues AS q
    CROSS APPLY sys.dm_db_index_physical_stats(DB_ID(), q.object_id, 1, NULL, N''LIMITED'') AS ps
    WHERE q.object_id IN (OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ''), OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ''))
      AND ps.alloc_unit_type_desc = N''IN_ROW_DATA'';

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_01_ufn_Queues.function.sql', 4, N'function', N'[etl].[ufn_Queues]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_Queues]()
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
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Behind vw_Queues; a function for the reason given in ufn_Conversations.
   Messages is what sys.partitions says of the queue''s internal table, never counted: COUNT(*) over a
   long queue scans it and stops its readers (F-170). The state of a queue monitor is the server''s
   business and not visible from here: usp_Health shows it to a caller with VIEW SERVER STATE. */
BEGIN
    DECLARE @initiator int = OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ'');
    DECLARE @target int = OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ'');
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
        CASE WHEN q.object_id = @target THEN N''target'' ELSE N''initiator'' END,
        q.name, le.Messages, q.is_receive_enabled, q.is_enqueue_enabled, q.is_activation_enabled,
        q.activation_procedure, q.max_readers, q.is_retention_enabled, q.is_poison_message_handling_enabled
    FROM sys.service_queues AS q
    LEFT OUTER JOIN @lengths AS le ON le.QueueId = q.object_id
    WHERE q.object_id IN (@initiator, @target);

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_02_ufn_HealthBroker.function.sql', 4, N'function', N'[etl].[ufn_HealthBroker]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_HealthBroker]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
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
        VALUES (1, N''broker off'', DB_NAME(), NULL,
            N''Nothing is delivered: sends pile up in sys.transmission_queue. A restore or attach switches it off. A member of db_owner runs ALTER DATABASE CURRENT SET ENABLE_BROKER, which needs the database for itself.'', NULL);
    IF @ownerName IS NULL
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N''database without owner'', DB_NAME(), NULL,
            N''The owner is no login of this server (a restore from elsewhere?): activation may fail with 15517 or 916. An administrator runs ALTER AUTHORIZATION ON DATABASE:: this database TO a login.'', NULL);
    ELSE IF NOT EXISTS (SELECT 1
                        FROM sys.databases AS d
                        INNER JOIN sys.database_principals AS dp ON dp.name = N''dbo'' AND dp.sid = d.owner_sid
                        WHERE d.database_id = DB_ID())
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N''database with two owners'', DB_NAME(), @ownerName,
            N''The server knows another owner than the database itself, as after a failover or an attach: activation may fail with 15517 or 33009. An administrator runs ALTER AUTHORIZATION ON DATABASE:: this database TO a login.'', NULL);
    IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.delayed_durability = 2)
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N''committed is not durable'', DB_NAME(), N''DELAYED_DURABILITY = FORCED'',
            N''What was committed is not yet on disk: a message could be lost when the server stops. A member of db_owner runs ALTER DATABASE CURRENT SET DELAYED_DURABILITY = DISABLED, or ALLOWED.'', NULL);
    IF EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_auto_close_on = 1)
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (50, N''database closes by itself'', DB_NAME(), N''AUTO_CLOSE ON'',
            N''It closes with its last session, and no reader starts until somebody comes. A member of db_owner runs ALTER DATABASE CURRENT SET AUTO_CLOSE OFF.'', NULL);

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Rights, gate, version                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    VALUES (200, N''pending dialogs, not messages'', N''sys.transmission_queue'', NULL,
        N''etl_module is no member of db_owner, and so it was chosen. vw_Pending has the dialogs whose last try failed, and why; vw_Unlanded has the messages. What is CLOSED past its time, usp_EndLeaked cleans up for a caller who is one.'', NULL);
    /* Counted, since the module user sees no service of another. */
    IF (SELECT COUNT(*) FROM sys.services AS s
        WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')
          AND s.principal_id = DATABASE_PRINCIPAL_ID(N''etl_module'')) < 2
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (10, N''service owned by another'', N''etl_module'', NULL,
            N''Or it is gone. Our procedures work as the owner of their services, and the right to SEND is checked against it. A member of db_owner runs ALTER AUTHORIZATION ON SERVICE:: each of ours TO the module user; for one that is gone, whoever deploys runs redial.sql again.'', NULL);

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N''gate closed'', N''etl'', CONCAT(N''since '', CONVERT(nvarchar(19), g.ChangedUtc, 120), N'' UTC''),
        CONCAT(N''usp_Send refuses with 50102. By '', g.ChangedBy, N'': '', g.Reason, N''. '',
            CASE WHEN m.Name IS NOT NULL THEN N''A deployment has not come to its end: whoever deploys runs redial.sql again, it opens the gate.''
                 ELSE N''When that is over, open it.'' END),
        CASE WHEN m.Name IS NULL THEN N''EXECUTE [etl].[usp_OpenGate] @reason = N''''usp_Health: it is over'''';'' END
    FROM [etl].[Gate] AS g WITH (NOLOCK)       /* waits for no sender */
    LEFT OUTER JOIN [etl].[Setting] AS m WITH (NOLOCK) ON m.Name = N''deployment.gate''
    WHERE g.ConfigId = 1
      AND g.IsOpen = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT TOP (1) 200, N''version'', h.ConfigName, h.Version, CONCAT(N''deployed '', CONVERT(nvarchar(19), h.DeployedUtc, 120), N'' UTC by '', h.DeployedBy), NULL
    FROM [etl].[DeploymentHistory] AS h WITH (NOLOCK)
    ORDER BY h.DeploymentId DESC;

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_02_ufn_HealthConversations.function.sql', 4, N'function', N'[etl].[ufn_HealthConversations]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_HealthConversations]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
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
        SUM(CASE WHEN e.AgeSeconds > 7800 THEN 1 ELSE 0 END), MAX(e.AgeSeconds),
        SUM(CASE WHEN e.EndUtc < DATEADD(second, 3690, GETUTCDATE()) THEN 1 ELSE 0 END), MIN(e.EndUtc)
    FROM (SELECT TOP (200000) ce.is_initiator, ce.state_desc,
              /* Of dialogs in use only, as in ufn_Conversations. */
              CASE WHEN sc.Handle IS NOT NULL THEN DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()) END AS AgeSeconds,
              CASE WHEN sc.Handle IS NOT NULL THEN ce.lifetime END AS EndUtc
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          LEFT OUTER JOIN [etl].[SessionConversations] AS sc WITH (NOLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
              ON sc.Handle = ce.conversation_handle AND ce.is_initiator = 1
          LEFT OUTER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)
              ON cl.Handle = ce.conversation_handle AND ce.is_initiator = 1
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')) AS e
    GROUP BY e.is_initiator, e.state_desc;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN e.Endpoints >= 100000 THEN 50 ELSE 200 END,
        N''endpoints'', CONCAT(CASE WHEN e.IsInitiator = 1 THEN N''initiator, '' ELSE N''target, '' END, e.State),
        CONCAT(CASE WHEN e.Endpoints >= 100000 THEN N''at least '' ELSE N'''' END, e.Endpoints),
        CASE WHEN e.Endpoints >= 100000 THEN N''So many are a leak, or a dialog per message: see usp_EndLeaked. They slow down every SEND and a restart.''
             ELSE N''CLOSED ones are the target''''s memory against replays and go after about 30 minutes.'' END, NULL
    FROM @states AS e;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN l.Action = N''END WITH CLEANUP'' THEN 100 ELSE 50 END,
        CASE WHEN l.Action = N''END WITH CLEANUP'' THEN N''CLOSED past their time'' ELSE N''leaked conversations'' END,
        l.Action, CONCAT(CASE WHEN COUNT(*) >= 1001 THEN N''at least '' ELSE N'''' END, COUNT(*)),
        N''Look with usp_EndLeaked first. A few DISCONNECTED ones come and go: their EndDialog is just being handled.'',
        N''EXECUTE [etl].[usp_EndLeaked] @reason = N''''usp_Health: leaked'''', @WhatIf = 0;''
    FROM [etl].[ufn_Leaked](1001) AS l
    GROUP BY l.Action;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Ages                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N''dialogs older than configured'', N''//redial/etl/initiator'', CONCAT(SUM(e.Old), N'', oldest '', MAX(e.OldestSeconds), N'' s''),
        N''Nobody sends on them, and usp_RetireIdle does not run: schedule it.'',
        N''EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;''
    FROM @states AS e
    HAVING SUM(e.Old) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N''dialogs near the end of their lifetime'', N''//redial/etl/initiator'', CONCAT(SUM(e.Ending), N'', first '', CONVERT(nvarchar(19), MIN(e.FirstEndUtc), 120), N'' UTC''),
        N''Nobody sends on them any more: the next send or usp_RetireIdle closes them by. At the end both sides get Error -8489; what has not landed by then is sent again.'',
        N''EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;''
    FROM @states AS e
    HAVING SUM(e.Ending) > 0;

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_02_ufn_HealthData.function.sql', 4, N'function', N'[etl].[ufn_HealthData]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_HealthData]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* A part of usp_Health: dead letters, errors, poison, growth. Sizes come from sys.partitions, counts are bounded, and
   NOLOCK keeps it from waiting for whoever is just writing. */
BEGIN
    DECLARE @now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N''dead letters unhandled'', N''[etl].[DeadLetter]'',
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N''at least '' ELSE N'''' END, COUNT(*), N'', first '', CONVERT(nvarchar(19), MIN(d.AddedUtc), 120), N'' UTC''),
        N''See vw_DeadLetters for the reasons. Mend the cause, then replay them, a thousand at a time; what nobody needs: usp_PurgeDeadLetter.'',
        CONCAT(N''EXECUTE [etl].[usp_ReplayDeadLetter] @deadLetterId = '', MIN(d.DeadLetterId), N'', @toDeadLetterId = '',
            CASE WHEN MAX(d.DeadLetterId) - MIN(d.DeadLetterId) > 999 THEN MIN(d.DeadLetterId) + 999 ELSE MAX(d.DeadLetterId) END, N'', @reason = N''''usp_Health: mended'''', @WhatIf = 0;'')
    FROM (SELECT TOP (10000) dl.AddedUtc, dl.DeadLetterId FROM [etl].[DeadLetter] AS dl WITH (NOLOCK) WHERE dl.HandledUtc IS NULL ORDER BY dl.DeadLetterId) AS d
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N''errors in the last hour'', e.ProcedureName,
        CONCAT(COUNT(*), N'', last '', CONVERT(nvarchar(19), MAX(e.AddedUtc), 120), N'' UTC''),
        N''See vw_Errors for the texts.'', NULL
    FROM (SELECT TOP (10000) el.ProcedureName, el.AddedUtc FROM [etl].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId DESC) AS e
    WHERE e.AddedUtc > DATEADD(hour, -1, @now)
    GROUP BY e.ProcedureName;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N''poison messages'', N''[etl].[PoisonAttempt]'', CONCAT(COUNT(*), N'', most rollbacks '', MAX(pa.Attempts)),
        N''These rows made their transaction roll back: see vw_Errors. At 1 whoever receives one next dead-letters it, and five rollbacks in a row would switch the queue off.'', NULL
    FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.Attempts > 0               /* 0: the mark of a batch in a hook (F-163) */
    HAVING COUNT(*) > 0;

    /* Statements name these indexes: without one, disabled or under another name, they fail (308, 315). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N''index missing'', CONCAT(N''etl'', N''.'', n.TableName), n.IndexName,
        N''Statements name this index, and fail without it (308): a send, a reader, or a purge. Whoever deploys gives the index its name back (sp_rename), enables it (REBUILD), or makes it as the rendered file of its table does.'', NULL
    FROM (SELECT st.name AS TableName, CONCAT(N''PK_'', st.name) AS IndexName
          FROM sys.tables AS st
          INNER JOIN sys.extended_properties AS ep
              ON ep.class = 1 AND ep.major_id = st.object_id AND ep.minor_id = 0 AND ep.name = N''Redial.made''
          WHERE st.schema_id = SCHEMA_ID(N''etl'')
          UNION ALL
          SELECT v.TableName, v.IndexName
          FROM (VALUES (N''SessionConversations'', N''UX_SessionConversations_Handle''), (N''SendLedger'', N''IX_SendLedger_SentUtc''),
                       (N''Inbox'', N''IX_Inbox_ReceivedUtc''), (N''ConversationLog'', N''IX_ConversationLog_ConversationId'')) AS v(TableName, IndexName)) AS n
    CROSS APPLY (SELECT OBJECT_ID(CONCAT(N''[etl]'', N''.'', QUOTENAME(n.TableName)), N''U'') AS Id) AS t
    WHERE t.Id IS NOT NULL
      AND ISNULL(INDEXPROPERTY(t.Id, n.IndexName, ''IsDisabled''), 1) = 1;      /* NULL: there is none */

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N''messages wait for the server'', N''[etl].[Landing]'', LEFT(CONCAT(COUNT(*), N'' conversations; '', MIN(pa.ErrorNumber), N'': '', MIN(pa.ErrorMessage)), 100),
        N''How the server is set up keeps them from landing, no message does. Nothing is lost. Mend it (7139: raise max text repl size; see vw_Errors): they land within a minute.'', NULL
    FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.MessageSequence = -3
    HAVING COUNT(*) > 0;

    /* ----------------------------------------------------------------------------------------- */
    /* Growth                                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 200, N''rows in a table'', CONCAT(N''etl'', N''.'', o.name), CONCAT(N''about '', SUM(p.rows)),
        N''Kept by [retention]: landing 14, log 30, dead letters 0 days (0: for ever).'', NULL
    FROM sys.objects AS o
    INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id = 1
    WHERE o.object_id IN (OBJECT_ID(N''[etl].[Landing]'', N''U''), OBJECT_ID(N''[etl].[ConversationLog]'', N''U''),
        OBJECT_ID(N''[etl].[ErrorLog]'', N''U''), OBJECT_ID(N''[etl].[DeadLetter]'', N''U''))
    GROUP BY o.name;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N''landed rows past their time'', N''[etl].[Landing]'', CONCAT(N''first '', CONVERT(nvarchar(19), la.LandedUtc, 120), N'' UTC''),
        N''[retention] keeps 14 days: the purge job does not run.'',
        N''EXECUTE [etl].[usp_PurgeLanding] @reason = N''''usp_Health: past its time'''', @WhatIf = 0;''
    /* Not the first alone: a clock that was ahead may have dated it. */
    FROM (SELECT MIN(x.LandedUtc) AS LandedUtc
          FROM (SELECT TOP (1000) y.LandedUtc FROM [etl].[Landing] AS y WITH (NOLOCK) WHERE y.LandedUtc <= @now ORDER BY y.RowVersion) AS x) AS la
    WHERE la.LandedUtc < DATEADD(day, -15, @now);

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_02_ufn_HealthPending.function.sql', 4, N'function', N'[etl].[ufn_HealthPending]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_HealthPending]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* A part of usp_Health: messages on their way. Every count is bounded: where millions wait, a report must not make it worse. */
BEGIN
    DECLARE @conversationId uniqueidentifier = ''00000000-0000-0000-0000-000000000000'';
    DECLARE @sentUtc datetime2(3);
    DECLARE @oldestUtc datetime2(3) = ''9999-12-31'';
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
        CASE WHEN p.StatusKind IN (N''queue off'', N''broker off'', N''no service'', N''no route'', N''access'') THEN 10
             WHEN p.StatusKind = N''far side ended'' OR MAX(p.WaitingSeconds) > 300 THEN 50
             ELSE 150 END,
        N''messages pending'', CONCAT(p.ToService, N'': '', p.StatusKind),
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N''at least '' ELSE N'''' END, COUNT(*), N'' dialogs'', N'', oldest '' + CONVERT(nvarchar(11), MAX(p.WaitingSeconds)) + N'' s''),
        CASE p.StatusKind
            WHEN N''queue off'' THEN N''The target queue is off. Find out in vw_Errors what switched it off, then start it.''
            WHEN N''broker off'' THEN N''A member of db_owner runs ALTER DATABASE ... SET ENABLE_BROKER in the database the text in vw_Pending names.''
            WHEN N''no service'' THEN N''No service of this name is in this instance; names are compared byte by byte. Whoever deploys installs the target.''
            WHEN N''no route'' THEN N''No route leads to the service. A database is born with AutoCreatedLocal: was it dropped?''
            WHEN N''access'' THEN N''The owner of the initiating service may not enter the target''''s database, or a key is missing. See the text in vw_Pending.''
            WHEN N''far side ended'' THEN N''The target ended the dialog with these messages behind: the initiator''''s activation resends them. Still here? Look in vw_Errors, then send them again.''
            WHEN N''busy'' THEN N''The target queue is locked, by maintenance say: it is tried again.''
            WHEN N''not tried'' THEN N''No attempt yet. If it stays so, the broker is off or the database is in single-user mode.''
            ELSE N''See the text in vw_Pending.'' END,
        CASE p.StatusKind
            WHEN N''queue off'' THEN N''EXECUTE [etl].[usp_StartQueue] @reason = N''''usp_Health: queue off'''', @WhatIf = 0;''
            WHEN N''far side ended'' THEN N''EXECUTE [etl].[usp_Resend] @reason = N''''usp_Health: far side ended'''', @WhatIf = 0;''
            END
    FROM [etl].[vw_Pending] AS p
    GROUP BY p.ToService, p.StatusKind;

    /* Dialogs whose resend activation has left to an operator. */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N''resend too large for activation'', d.Handle, N''more than 100000 messages'',
        N''It has failed or ended, and its messages wait for you. vw_Errors says why. See to room in the log (three times their bytes) before you send them again.'',
        CONCAT(N''EXECUTE [etl].[usp_Resend] @handle = '''''', d.Handle, N'''''', @most = 2000000000, @reason = N''''usp_Health: too large for activation'''', @WhatIf = 0;'')
    FROM (SELECT TOP (100) ce.conversation_handle AS Handle, ce.conversation_id AS ConversationId
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'' AND ce.is_initiator = 1 AND ce.state IN (''DI'', ''ER'')) AS d
    CROSS APPLY (SELECT COUNT(*) AS Messages
                 FROM (SELECT TOP (100001) sm.MessageSequence
                       FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                       WHERE sm.ConversationId = d.ConversationId) AS q) AS n
    WHERE n.Messages > 100000;

    /* Messages that have not landed, dialog by dialog, each by its oldest: one seek a dialog. */
    WHILE @dialogs < 10000
    BEGIN
        SET @copies = 0;
        SELECT TOP (1) @copies = 1, @conversationId = sm.ConversationId, @sequence = sm.MessageSequence, @sentUtc = sm.SentUtc
        FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
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
            FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId = @conversationId
            ORDER BY sm.MessageSequence DESC;
            INSERT INTO @old (ConversationId, Copies) VALUES (@conversationId, @last - @sequence + 1);
        END;
    END;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N''messages of dialogs that are over'', N''//redial/etl/initiator'',
        CONCAT(COUNT(*), N'' dialogs of '', CASE WHEN @dialogs >= 10000 THEN N''at least '' ELSE N'''' END, @dialogs),
        CONCAT(N''Their dialogs were ended by hand, or what activation did with them failed (vw_Errors). Nothing is lost: send them again.'',
            CASE WHEN MAX(o.Copies) > 100000 THEN N'' Each dialog goes in one transaction: first see that there is room in the log for about three times the bytes of the largest one, and let it be a quiet hour.'' END),
        CONCAT(N''EXECUTE [etl].[usp_Resend] '', CASE WHEN MAX(o.Copies) > 100000 THEN CONCAT(N''@most = '', MAX(o.Copies), N'', '') END, N''@reason = N''''usp_Health: dialogs that are over'''', @WhatIf = 0;'')
    FROM @old AS o
    /* HASH: one pass over the view, not one for each dialog (F-153). */
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS ce WITH (NOLOCK)
        ON ce.conversation_id = o.ConversationId AND ce.is_initiator = 1 AND ce.state IN (''SO'', ''CO'')
    WHERE ce.conversation_handle IS NULL
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN @oldestUtc < DATEADD(minute, -5, SYSUTCDATETIME()) THEN 50 ELSE 200 END, N''messages that have not landed'', N''//redial/etl/target'',
        CONCAT(N''in '', @dialogs, N'' dialogs, oldest '', CONVERT(nvarchar(19), @oldestUtc, 120), N'' UTC''),
        N''On their way: see vw_Unlanded. Older than minutes? Look at the queues and readers. A dialog whose target was ended WITH CLEANUP says nothing before its next message: usp_EndLeaked gives it up once it is closing, usp_Resend with its @handle at once.'', NULL
    WHERE @dialogs > 0;

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'65_02_ufn_HealthQueues.function.sql', 4, N'function', N'[etl].[ufn_HealthQueues]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_HealthQueues]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* A part of usp_Health: are the queues on, read by whom they should be, and who is told when not? */
BEGIN
    DECLARE @missing int = 2 - (SELECT COUNT(*) FROM [etl].[ufn_Queues]());

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N''queue off'', q.QueueName, NULL,
        N''Messages wait; nothing is lost. Five rollbacks in a row switch a queue off: look in vw_Errors first and mend the cause (a full disk, say), then start it.'',
        CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: queue off'''', @WhatIf = 0;'')
    FROM [etl].[ufn_Queues]() AS q
    WHERE q.IsReceiveEnabled = 0
       OR q.IsEnqueueEnabled = 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N''activation off'', q.QueueName, NULL, N''Nobody reads the queue. Somebody switched its activation off: ask why, then start it.'',
        CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: activation off'''', @WhatIf = 0;'')
    FROM [etl].[ufn_Queues]() AS q
    WHERE q.IsActivationEnabled = 0
       OR q.ActivationProcedure IS NULL;

    /* Tried again every five seconds, with a line in the server''s error log each time (F-255). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN 1 ELSE 10 END, N''other activation procedure'', q.QueueName,
        LEFT(CONCAT(q.ActivationProcedure, CASE WHEN OBJECT_ID(q.ActivationProcedure) IS NULL THEN N'' (missing)'' ELSE N'''' END,
            N'' as '', ISNULL(USER_NAME(sq.execute_as_principal_id), N''somebody else'')), 100),
        N''Expected: [etl].[usp_SenderActivation] and [etl].[usp_TargetActivation], as [etl_module]. Starting the queue sets both; then look in the server''''s error log for lines 9724.'',
        CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: other activation procedure'''', @WhatIf = 0;'')
    FROM [etl].[ufn_Queues]() AS q
    INNER JOIN sys.service_queues AS sq ON sq.object_id = OBJECT_ID(CONCAT(N''[etl]'', N''.'', QUOTENAME(q.QueueName)), N''SQ'')
    WHERE q.ActivationProcedure IS NOT NULL
      AND (ISNULL(OBJECT_ID(q.ActivationProcedure), 0) <> ISNULL(OBJECT_ID(CASE WHEN q.Side = N''target'' THEN N''[etl].[usp_TargetActivation]'' ELSE N''[etl].[usp_SenderActivation]'' END, N''P''), -1)
           OR ISNULL(sq.execute_as_principal_id, 0) <> DATABASE_PRINCIPAL_ID(N''etl_module''));

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N''queue differs from configuration'', q.QueueName,
        CONCAT(q.MaxReaders, N'' readers, retention '', q.IsRetentionEnabled, N'', poison handling '', q.IsPoisonMessageHandlingEnabled),
        N''Expected: 2 readers of the initiator''''s queue, 4 of the target''''s, retention 0 (it lets the queue grow as long as dialogs live), poison handling 1 (else a fault spins). Starting the queue sets them; or change the configuration.'',
        CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: queue differs from configuration'''', @WhatIf = 0;'')
    FROM [etl].[ufn_Queues]() AS q
    WHERE q.MaxReaders <> CASE WHEN q.Side = N''target'' THEN 4 ELSE 2 END
       OR q.IsRetentionEnabled = 1
       OR q.IsPoisonMessageHandlingEnabled <> CASE WHEN q.Side = N''target'' THEN 1 ELSE 1 END;

    IF @missing > 0
        INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
        VALUES (1, N''queue missing'', NULL, NULL, N''A queue is not in this database, or the module user may not see it: whoever deploys runs redial.sql again.'', NULL);

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN q.Messages IS NULL THEN 150 WHEN q.Messages > 100000 THEN 50 ELSE 200 END,
        CASE WHEN q.Messages IS NULL THEN N''not looked at'' ELSE N''messages in a queue'' END, q.QueueName, CONCAT(N''about '', q.Messages),
        CASE WHEN q.Messages IS NULL THEN N''How long it is: sys.internal_tables does not show the module user the table of its queue (F-172). A member of db_owner sees it there and in sys.partitions.''
             WHEN q.Messages > 100000 THEN N''Readers do not keep up, or none runs: see the readers below, and docs/runbook/backlog.md. One conversation feeds one reader only.''
             ELSE N''From sys.partitions, without reading the queue.'' END, NULL
    FROM [etl].[ufn_Queues]() AS q;

    RETURN;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_ArmTimer.procedure.sql', 4, N'procedure', N'[etl].[usp_ArmTimer]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ArmTimer]
    @handle uniqueidentifier,
    @seconds int
AS
/* Redial 0.1.0, configuration etl */
/* Sets the conversation timer where it can be set. Takes G and nothing else.
   It may be refused: the dialog is gone (8426), has ended (8458), or would outlive its lifetime (8410).
   Each of these comes with an EndDialog or Error message that ends the dialog, so no timer is needed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a refusal must not doom the RECEIVE around it */

    BEGIN TRY
        BEGIN CONVERSATION TIMER (@handle) TIMEOUT = @seconds;
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (8410, 8426, 8458) OR XACT_STATE() = -1
            THROW;
    END CATCH;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_DropCopies.procedure.sql', 4, N'procedure', N'[etl].[usp_DropCopies]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_DropCopies]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* kept in ErrorLog */
    @rows [etl].[ReceivedBatch] READONLY   /* what has been accounted for */
AS
/* Redial 0.1.0, configuration etl */
/* Takes away one copy for each message that has been accounted for: that of its number and content, else
   the oldest of its content. The sender''s count and the broker''s numbers can come apart: somebody else sends
   on the dialog, a SEND is undone and its number not given back, a client cancels between a SEND and its
   copy and commits. So nothing that is still to come is left without a copy. Said in ErrorLog, once for
   each dialog. Called in a transaction that owns the group of the dialog''s target. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @found TABLE (RowId int NOT NULL PRIMARY KEY);
    DECLARE @row int = 0;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @first bigint = NULL;       /* the first message that has no copy of its number */
    DECLARE @message nvarchar(2048);

    /* By key, one after the other: a range would ask for a key that a sender is just writing (F-461). */
    DELETE sm
    OUTPUT r.RowId INTO @found (RowId)
    FROM @rows AS r
    INNER JOIN [etl].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
        ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
    WHERE r.MessageType IN (N'''', sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(r.Body, 0x)
    OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row
          AND r.MessageType NOT IN (N''EndOfStream'',
              N''http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'',
              N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'')
          AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.RowId = r.RowId)
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SET @first = ISNULL(@first, @sequence);
        WITH oldest AS (
            SELECT TOP (1) sm.MessageSequence
            FROM [etl].[SentMessage] AS sm
                /* READPAST: what a sender is just writing has not arrived. FORCESEEK: this dialog''s. */
                WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)
            WHERE sm.ConversationId = @conversationId
              AND @messageType IN (N'''', sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(@body, 0x)
            ORDER BY sm.MessageSequence
        )

        DELETE FROM oldest;
    END;

    /* Once: not if it stands among the last thousand lines. */
    IF @first IS NOT NULL
       AND NOT EXISTS (SELECT 1
                       FROM (SELECT TOP (1000) el.ProcedureName, el.ConversationHandle
                             FROM [etl].[ErrorLog] AS el WITH (NOLOCK)     /* waits for nobody */
                             ORDER BY el.ErrorLogId DESC) AS el
                       WHERE el.ConversationHandle = @handle AND el.ProcedureName = N''usp_DropCopies'')
    BEGIN
        SET @message = CONCAT(N''Message '', @first, N'' of this dialog has no copy of its number: somebody else sends on it, or a client cancelled a call and committed. Nothing is lost: copies are found by their content. Next: see who else may send on dialogs of service ''''//redial/etl/initiator''''.'');
        EXECUTE [etl].[usp_LogError] @procedureName = N''usp_DropCopies'', @handle = @handle,
            @sequence = @first, @message = @message;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_LogError.procedure.sql', 4, N'procedure', N'[etl].[usp_LogError]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_LogError]
    @procedureName nvarchar(128),
    @handle uniqueidentifier = NULL,    /* the conversation it happened on, if any */
    @sequence bigint = NULL,            /* of the message it happened with, if any */
    @message nvarchar(4000) = NULL      /* NULL: the error of the CATCH block this is called from */
AS
/* Redial 0.1.0, configuration etl */
BEGIN
    SET NOCOUNT ON;

    DECLARE @number int = ERROR_NUMBER();
    DECLARE @line int = ERROR_LINE();
    SET @message = ISNULL(@message, ERROR_MESSAGE());

    BEGIN TRY
        INSERT INTO [etl].[ErrorLog]
            (ProcedureName, ConversationHandle, MessageSequence, ErrorNumber, ErrorLine, ErrorMessage)
        VALUES
            (@procedureName, @handle, @sequence, @number, @line, @message);
    END TRY
    BEGIN CATCH
        /* No room for a line (1105, 9002), say. Who logs goes on; only who has work open must know. */
        IF @@TRANCOUNT > 0
            THROW;
    END CATCH;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_ReadErrorBody.procedure.sql', 4, N'procedure', N'[etl].[usp_ReadErrorBody]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ReadErrorBody]
    @messageBody varbinary(max),
    @code int OUTPUT,                   /* NULL when the body cannot be read */
    @description nvarchar(3000) OUTPUT  /* the body itself then, as far as there is room */
AS
/* Redial 0.1.0, configuration etl */
/* Code and description of an Error message. Never casts: a malformed body must not doom the
   transaction that received it (F-115), so every conversion is a TRY_ one. A description may hold what
   XML may not (0x01, half a surrogate pair), and then the body is read as text. */
BEGIN
    SET NOCOUNT ON;
    /* Methods of xml want these (1934). The session of a reader may have the database''s defaults. */
    SET ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;

    DECLARE @body xml = TRY_CONVERT(xml, @messageBody);
    DECLARE @text nvarchar(max) = CONVERT(nvarchar(max), @messageBody);
    DECLARE @number nvarchar(20);
    DECLARE @from int;
    DECLARE @to int;

    WITH XMLNAMESPACES (''http://schemas.microsoft.com/SQL/ServiceBroker/Error'' AS ssb)
    SELECT
        @number = @body.value(''(/ssb:Error/ssb:Code)[1]'', ''nvarchar(20)''),
        @description = @body.value(''(/ssb:Error/ssb:Description)[1]'', ''nvarchar(3000)'');

    IF @body IS NULL
    BEGIN
        SELECT @from = CHARINDEX(N''<Code>'', @text) + 6, @to = CHARINDEX(N''</Code>'', @text);
        IF @from > 6 AND @to > @from
            SET @number = SUBSTRING(@text, @from, @to - @from);
        SELECT @from = CHARINDEX(N''<Description>'', @text) + 13, @to = CHARINDEX(N''</Description>'', @text);
        IF @from > 13 AND @to > @from
            SET @description = REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(SUBSTRING(@text, @from, @to - @from),
                N''&lt;'', N''<''), N''&gt;'', N''>''), N''&quot;'', N''"''), N''&apos;'', N''''''''), N''&amp;'', N''&'');
    END;

    /* With a digit: nothing at all would be 0, which says that there was no error. */
    SET @code = CASE WHEN @number LIKE N''%[0-9]%'' THEN TRY_CONVERT(int, @number) END;
    IF @code IS NULL
        SET @description = LEFT(CONCAT(N''An Error message without a code that can be read. '', @description, N'' Its body: '',
            ISNULL(CONVERT(nvarchar(max), SUBSTRING(@messageBody, 1, 1400), 1), N''none'')), 3000);
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_RecordPoison.procedure.sql', 4, N'procedure', N'[etl].[usp_RecordPoison]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_RecordPoison]
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @attempts int = 1                   /* how many rollbacks to count */
AS
/* Redial 0.1.0, configuration etl */
/* Counts rollbacks against one queue row, in a transaction of its own: called from a CATCH block
   after the rollback, so the count outlives it. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @number int = ERROR_NUMBER();
    DECLARE @message nvarchar(3000) = LEFT(ERROR_MESSAGE(), 3000);
    DECLARE @written bit = 0;

    WHILE @written = 0
    BEGIN
        UPDATE pa
        SET Attempts = pa.Attempts + @attempts,
            LastUtc = SYSUTCDATETIME(),
            ErrorNumber = @number,
            ErrorMessage = @message
        FROM [etl].[PoisonAttempt] AS pa
            /* This row: a scan would wait for one of a reader that waits for our turn (F-162). */
            WITH (ROWLOCK, INDEX ([PK_PoisonAttempt]), FORCESEEK)
        WHERE pa.ConversationHandle = @handle
          AND pa.MessageSequence = @sequence
          AND pa.MessageType = @messageType;
        IF @@ROWCOUNT > 0
            RETURN 0;

        BEGIN TRY
            INSERT INTO [etl].[PoisonAttempt]
                (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc, ErrorNumber, ErrorMessage)
            VALUES
                (@handle, @sequence, @messageType, @attempts, SYSUTCDATETIME(), @number, @message);
            SET @written = 1;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() <> 2627 OR XACT_STATE() = -1
                THROW;                  /* 2627: another reader recorded it first; count on */
        END CATCH;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_SendEndOfStream.procedure.sql', 4, N'procedure', N'[etl].[usp_SendEndOfStream]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_SendEndOfStream]
    @handle uniqueidentifier
AS
/* Redial 0.1.0, configuration etl */
/* Closes a dialog: the target ends it when it has read everything before. Only for a transaction that
   has made sure that nobody sends on it any more, because it deleted or changed the row that led to
   it, or began the dialog itself: then EndOfStream is sent once and nothing follows it (F-128).
   Takes G, then the dialog''s row of ConversationLog (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @sent bigint = NULL;

    IF @@TRANCOUNT = 0
        THROW 50121, N''usp_SendEndOfStream must be called inside the transaction that took the conversation from its senders.'', 1;

    SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];

    SELECT @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own change, under G; never wait while holding R and G (F-126) */
    WHERE ce.conversation_handle = @handle;

    /* The last number given went to EndOfStream; numbers start at 0. */
    UPDATE cl
    SET EndOfStreamUtc = SYSUTCDATETIME(),
        Messages = @sent - 1
    FROM [etl].[ConversationLog] AS cl
        WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog''s row only */
    WHERE cl.Handle = @handle;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_SendPrivately.procedure.sql', 4, N'procedure', N'[etl].[usp_SendPrivately]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_SendPrivately]
    @messages [etl].[ReceivedBatch] READONLY,   /* sent in the order of RowId, byte for byte */
    @resendOf uniqueidentifier,         /* kept in ConversationLog: whose messages they were */
    @reason nvarchar(3000) = NULL,      /* kept in ConversationLog */
    @most int = NULL,                   /* only the first so many, and none behind one that is refused; NULL: all of them */
    @sent int = NULL OUTPUT,            /* how many went out on it */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration etl */
/* Sends messages again on a dialog of their own: no row leads to it and it has no timer, so nobody else
   sends on it, and its EndOfStream follows at once. If it fails too, its own Error message comes back
   to us, and its copies are here. Called inside a transaction. Locks: the group of the new dialog.
   A server may look at a body while it is being sent, and then the next SEND is refused (8429, F-366):
   with @most the refused message is the last one here, and what is behind it the caller''s to send. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* all of it or nothing */

    DECLARE @conversationId uniqueidentifier;
    DECLARE @row int = 0;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @last int = 0;
    DECLARE @state char(2);

    IF @@TRANCOUNT = 0
        THROW 50124, N''usp_SendPrivately must be called inside the transaction that takes the messages from where they are.'', 1;

    SELECT @handle = NULL, @sent = 0;
    BEGIN DIALOG CONVERSATION @handle
        FROM SERVICE [//redial/etl/initiator]
        TO SERVICE N''//redial/etl/target''
        ON CONTRACT [//redial/etl/contract]
        WITH LIFETIME = 604800, ENCRYPTION = OFF;

    SELECT @conversationId = ce.conversation_id
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own row, just made (F-126) */
    WHERE ce.conversation_handle = @handle;

    WHILE ISNULL(@most, @sent + 1) > @sent
    BEGIN
        SELECT TOP (1) @row = m.RowId, @messageType = m.MessageType, @body = m.Body
        FROM @messages AS m
        WHERE m.RowId > @row
        ORDER BY m.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        IF @body IS NULL
        BEGIN
            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
        END
        ELSE
        BEGIN
            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);
        END;

        SELECT @sent += 1, @last = @row;
        IF @most IS NOT NULL
            SELECT @state = ce.state
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)           /* our own endpoint, under G (F-126) */
            WHERE ce.conversation_handle = @handle;
        IF @state NOT IN (''SO'', ''CO'')
            BREAK;
    END;

    /* The numbers the broker gives them: from 0 on (F-171). */
    INSERT INTO [etl].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
    SELECT @conversationId, ROW_NUMBER() OVER (ORDER BY m.RowId) - 1, m.MessageType, m.Body
    FROM @messages AS m
    WHERE m.RowId <= @last;

    IF ISNULL(@state, ''SO'') IN (''SO'', ''CO'')
    BEGIN
        SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];
    END;

    INSERT INTO [etl].[ConversationLog]
        (Handle, ConversationId, ConfigId, ResendOf, EndOfStreamUtc, Messages, Reason)
    VALUES (@handle, @conversationId, 1, @resendOf, SYSUTCDATETIME(), @sent, @reason);

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'70_usp_WaitForServer.procedure.sql', 4, N'procedure', N'[etl].[usp_WaitForServer]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_WaitForServer]
    @handle uniqueidentifier,           /* the conversation it happened on; NULL: RECEIVE itself failed */
    @queueId int                        /* the queue of the reader that waits */
AS
/* Redial 0.1.0, configuration etl */
/* Called after a rollback that was the server''s trouble (disk or log full, memory): another RECEIVE would be
   rolled back as well, and five in a row switch the queue off; and a reader that leaves may not be started
   again (F-473). So something is written in a transaction that is always undone, until it can be; before
   each attempt we wait, holding nothing: five seconds, then longer, a minute at most.
   Returns 0, or 1 when the queue was switched off meanwhile. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @since datetime2(3) = SYSUTCDATETIME();
    DECLARE @seconds int = 5;
    DECLARE @delay char(8);
    DECLARE @message nvarchar(4000);

    WAITFOR DELAY ''00:00:05'';
    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            INSERT INTO [etl].[ErrorLog] (ProcedureName, ErrorMessage) VALUES (N''usp_WaitForServer'', REPLICATE(N''x'', 4000));
            ROLLBACK TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                BREAK;                  /* something else: the next RECEIVE finds what */
        END CATCH;

        IF NOT EXISTS (SELECT 1
                       FROM sys.service_queues AS q
                       WHERE q.object_id = @queueId
                         AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            RETURN 1;

        SET @seconds = CASE WHEN @seconds = 0 THEN 1 WHEN @seconds < 30 THEN @seconds * 2 ELSE 60 END;
        SET @delay = CONVERT(char(8), DATEADD(second, @seconds, CONVERT(datetime, 0)), 108);
        WAITFOR DELAY @delay;
    END;

    IF @seconds > 5
    BEGIN
        SET @message = CONCAT(N''It goes on after '', DATEDIFF(second, @since, SYSUTCDATETIME()),
            N'' seconds of waiting: see the error before. Nothing was lost.'');
        EXECUTE [etl].[usp_LogError] @procedureName = N''usp_WaitForServer'', @handle = @handle, @message = @message;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_01_usp_BeginConversation.procedure.sql', 4, N'procedure', N'[etl].[usp_BeginConversation]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @rowHandle uniqueidentifier,        /* what the key''s row holds now: a placeholder or a dead handle */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @vanished bit,                      /* 1: the dialog before it is gone, and no message told of its end */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration etl */
/* Begins a dialog and puts its handle into the row of a key. Called inside a transaction that holds
   the row R: row first, conversation group second, as everywhere on this side (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @newHandle uniqueidentifier = NULL;
    DECLARE @newId uniqueidentifier = NULL;
    DECLARE @timeout int = NULL;

    /* What had not landed of a dialog that is gone is sent again by usp_ResendStranded, which the
       activation of this side runs. A timer starts it soon. */
    IF @vanished = 1
        SET @timeout = 30;

    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 1  The dialog                                                                           */
        /* ------------------------------------------------------------------------------------- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/etl/initiator]
            TO SERVICE N''//redial/etl/target''
            ON CONTRACT [//redial/etl/contract]
            WITH LIFETIME = 604800, ENCRYPTION = OFF;

        IF @timeout IS NOT NULL
            BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        SELECT @newId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce
            WITH (NOLOCK)               /* our own row, just made; never wait here while holding R and G (F-126) */
        WHERE ce.conversation_handle = @newHandle;

        /* The copies of its messages are kept under this id. */
        IF @newId IS NULL
            THROW 50104, N''User ''''etl_module'''' does not see in sys.conversation_endpoints the conversation it has just begun. Nothing was sent. Next: make it the owner of service ''''//redial/etl/initiator'''' and its queue.'', 1;

        /* ------------------------------------------------------------------------------------- */
        /* 2  The handle into the row                                                              */
        /* ------------------------------------------------------------------------------------- */
        UPDATE sc
        SET Handle = @newHandle,
            ConversationId = @newId,
            Sent = 0,
            BegunUtc = SYSUTCDATETIME(),
            /* Each with a random part, so that dialogs begun together are not replaced together. */
            RecycleAtUtc = DATEADD(second, 3600 + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601, SYSUTCDATETIME()),
            RecycleAtMessages = 100000 + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 10001
        FROM [etl].[SessionConversations] AS sc
            /* INDEX, FORCESEEK: both columns below are unique, and a seek by Handle would lock the
               Handle index before the row (F-120); a scan would stop at other sessions'' rows.
               ROWLOCK: one row, nothing wider (F-121). Proved by the explorer''s send scenarios. */
            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @conversationKey
          AND sc.Handle = @rowHandle;

        /* ------------------------------------------------------------------------------------- */
        /* 3  The audit row. Only ever inserted here (see ConversationLog)                          */
        /* ------------------------------------------------------------------------------------- */
        INSERT INTO [etl].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        VALUES (@newHandle, @newId, 1, @conversationKey);

        SELECT @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a dialog nobody knows, nor a row that
           leads to it or to the one before, which has ended or had its EndOfStream (S2, S6). In a
           transaction of our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            UPDATE sc                       /* the slot stays, unused */
            SET Handle = NEWID(),
                ConversationId = NULL,
                Sent = 0,
                BegunUtc = NULL,
                RecycleAtUtc = NULL,
                RecycleAtMessages = NULL
            FROM [etl].[SessionConversations] AS sc
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey
              AND (sc.Handle = @rowHandle OR sc.Handle = @newHandle);

            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;

        THROW;
    END CATCH;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_01_usp_WaitForSlot.procedure.sql', 4, N'procedure', N'[etl].[usp_WaitForSlot]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_WaitForSlot]
    @slot nvarchar(200),
    @ownsTransaction bit                /* 1: usp_Send began the transaction, 0: its caller did */
AS
/* Redial 0.1.0, configuration etl */
/* Waits for one slot of the pool, 5000 ms at most, and keeps it to the end of the transaction.
   A procedure of its own, because SET LOCK_TIMEOUT ends with the procedure it is in (F-116).
   Returns 0 the slot is ours, 1 it is busy still. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @found int = 0;

    IF @@TRANCOUNT = 0
        THROW 50103, N''usp_WaitForSlot must be called inside the transaction that sends: the lock it waits for ends with it.'', 1;

    /* A caller who waits less keeps its own limit; -1 is for ever. */
    IF @@LOCK_TIMEOUT NOT BETWEEN 0 AND 5000
        SET LOCK_TIMEOUT 5000;

    BEGIN TRY
        /* As for SEND: a busy pool must not doom what the caller did before (F-132). */
        IF @ownsTransaction = 0
            SET XACT_ABORT OFF;

        SELECT @found = 1
        FROM [etl].[SessionConversations] AS sc
            /* UPDLOCK, ROWLOCK, INDEX, FORCESEEK: as in usp_AcquireConversation; no READPAST: this
               one is waited for. READCOMMITTEDLOCK: by locks, whatever the database''s option. */
            WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @slot;
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() <> 1222
            THROW;
    END CATCH;

    RETURN CASE WHEN @found = 1 THEN 0 ELSE 1 END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_02_usp_AcquireConversation.procedure.sql', 4, N'procedure', N'[etl].[usp_AcquireConversation]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_AcquireConversation]
    @conversationKey nvarchar(200) OUTPUT,  /* the slot it found; any will do */
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT,
    @messageType sysname = NULL         /* unused; a usp_Send not yet replaced passes it: deployed beside callers */
AS
/* Redial 0.1.0, configuration etl */
/* A dialog of the pool to send on: the first free slot, counted from one that depends on the session.
   A slot is a row R; who holds its lock has it, so commit gives it back and no crash can leak it.
   Called inside a READ COMMITTED transaction. Raises 50101 when every slot stayed busy, 50102 when the
   gate is closed. Locks: R of one slot; then the groups of dialogs closed or begun here. It waits for R
   only when all slots are busy, and then for a bounded time (F-152). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    /* Sessions start at different slots, so that they seldom meet; the number is a key of four digits. */
    DECLARE @start nvarchar(200) = RIGHT(CONCAT(N''000'', CONVERT(nvarchar(5), @@SPID % 16 + 1)), 4);
    DECLARE @slot nvarchar(200) = NULL;
    DECLARE @ours nvarchar(200) = NULL; /* the slot this transaction took with an earlier message */
    DECLARE @rowHandle uniqueidentifier;
    DECLARE @begunUtc datetime2(3);     /* NULL: the slot has no dialog, its Handle is a placeholder */
    DECLARE @busy int;
    DECLARE @state char(2) = NULL;
    DECLARE @vanished bit = 0;
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent on it last */
    DECLARE @messages bigint;
    DECLARE @recycleAtUtc datetime2(3);
    DECLARE @recycleAtMessages bigint;

    IF @@TRANCOUNT = 0
        THROW 50103, N''usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.'', 1;

    /* -- 1  A caller''s transaction keeps the slot of its first message, so its messages stay in order -- */
    SET @handle = NULL;
    IF @ownsTransaction = 0
    BEGIN
        /* Our own row is never passed over by READPAST, others'' are, so nothing is waited for; what
           stays of an earlier transaction is no lock, and a number used again after a restart only
           proposes a slot, which is then taken like any other (F-151). */
        SELECT TOP (1) @ours = sc.ConversationKey
        FROM [etl].[SessionConversations] AS sc
            WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.TransactionId = CURRENT_TRANSACTION_ID();
    END;

    IF @ours IS NOT NULL
    BEGIN
        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @ours
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    /* -- 2  R: the first slot nobody holds, in the order of slots from ours to the last, then the rest -- */
    /* UPDLOCK: nobody recycles or sends on the slot before the caller''s SEND commits (F-128).
       READPAST: a busy slot is passed over, not waited for; refused (650) under SERIALIZABLE and
       SNAPSHOT, which usp_Send has left (F-125).
       READCOMMITTEDLOCK: READPAST asks for it under READ_COMMITTED_SNAPSHOT.
       ROWLOCK, INDEX, FORCESEEK, TOP, ORDER BY: row after row of the clustered key, and no further than
       the first free one; a scan or a sort would lock all that are free (F-121). */
    IF @handle IS NULL
    BEGIN
        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey BETWEEN @start AND N''0016''
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    IF @handle IS NULL
    BEGIN
        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey >= N''0001'' AND sc.ConversationKey < @start
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    IF @handle IS NULL                  /* all busy: wait for the one slot we start from, a bounded time */
    BEGIN
        EXECUTE @busy = [etl].[usp_WaitForSlot] @slot = @start, @ownsTransaction = @ownsTransaction;
        IF @busy <> 0
            THROW 50101, N''All 16 conversations of the pool were busy for 5000 ms or your LOCK_TIMEOUT. Nothing was sent. Next: send again, or deploy with a larger pool.size.'', 1;

        SELECT TOP (1) @slot = sc.ConversationKey, @handle = sc.Handle, @begunUtc = sc.BegunUtc,
            @sentBy = sc.TransactionId, @messages = sc.Sent,
            @recycleAtUtc = sc.RecycleAtUtc, @recycleAtMessages = sc.RecycleAtMessages
        FROM [etl].[SessionConversations] AS sc
            WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @start
        ORDER BY sc.ConfigId, sc.ConversationKey;
    END;

    SELECT @rowHandle = @handle, @conversationKey = @slot;

    /* -- 3  The gate, read after R is held: a drain closes it first and passes over R after (F-148) -- */
    IF EXISTS (SELECT 1
               FROM [etl].[Gate] AS g
                   WITH (FORCESEEK)      /* its one row; a plain read of what is committed, R being held (F-148) */
               WHERE g.ConfigId = 1 AND g.IsOpen = 0)
        THROW 50102, N''The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.'', 1;

    /* -- 4  A look at the state keeps dead handles from SEND: its 8426 may doom the transaction
             (F-131). NULL is gone, and nobody was told of its end: who does not see the dialogs he
             begins cannot begin any (50104) -- */
    IF @begunUtc IS NOT NULL
    BEGIN
        SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
        FROM sys.conversation_endpoints AS ce
            WITH (NOLOCK)               /* whether a plain read waits for an END is unknown (F-126) */
        WHERE ce.conversation_handle = @handle;
        IF @state IS NULL
            SET @vanished = 1;
    END;

        /* ------------------------------------------------------------------------------------- */
        /* 5  Its time has come: we own the row, so we close it, nobody else can */
        /* ------------------------------------------------------------------------------------- */
        /* Nothing is closed in a call that found a dialog dead: the next attempt of usp_Send is for
           sending (F-150). A transaction that has sent on a dialog goes on with it: so its messages are
           in one order, whatever the dialog''s age (F-464). A row without limits was begun under an
           earlier configuration. */
        IF @deadHandle IS NULL AND @state IN (''SO'', ''CO'')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE())
                      OR SYSUTCDATETIME() >= @recycleAtUtc OR @messages >= @recycleAtMessages
                      OR (@recycleAtUtc IS NULL AND @recycleAtMessages IS NULL))))
        BEGIN
            BEGIN TRY
                /* As for SEND itself: a dead dialog must not doom the caller''s work (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                EXECUTE [etl].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead already, so nobody can or need be told. In a transaction of our
                   own XACT_ABORT has doomed it, and usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* Any other error: if EndOfStream went out before it, a caller who goes on must
                       not commit a row that leads to it, or it goes out again, or a message behind it
                       (S2). If not, the next send closes the dialog. */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1
                                   FROM sys.conversation_endpoints AS ce
                                       WITH (NOLOCK)    /* as above */
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                    BEGIN
                        UPDATE sc                       /* the slot stays, unused */
                        SET Handle = NEWID(),
                            ConversationId = NULL,
                            Sent = 0,
                            BegunUtc = NULL,
                            RecycleAtUtc = NULL,
                            RecycleAtMessages = NULL
                        FROM [etl].[SessionConversations] AS sc
                            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1
                          AND sc.ConversationKey = @slot
                          AND sc.Handle = @rowHandle;
                    END;

                    THROW;
                END;
            END CATCH;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;

            SET @deadHandle = @handle;      /* of no more use: begin the next one below */
        END;

    /* -- 6  The pool grows where a slot has no dialog; a dialog of no more use is replaced -- */
    IF @begunUtc IS NULL OR @vanished = 1 OR @handle = @deadHandle OR @state IN (''DI'', ''DO'', ''ER'', ''CD'')
    BEGIN
        EXECUTE [etl].[usp_BeginConversation]
            @conversationKey = @slot,
            @rowHandle = @rowHandle,
            @ownsTransaction = @ownsTransaction,
            @vanished = @vanished,
            @handle = @handle OUTPUT;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_03_usp_Send.procedure.sql', 4, N'procedure', N'[etl].[usp_Send]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_Send]
    /* Leave out what has a default: it is the only one, or the newest, that this configuration has. */
    @fromService sysname = N''//redial/etl/initiator'',
    @toService sysname = N''//redial/etl/target'',
    @onContract sysname = N''//redial/etl/contract'',
    @messageType sysname = N''//redial/etl/event'',
    @messageBody varbinary(max),        /* NULL and empty are both sent without a body (F-107) */
    @key nvarchar(4000) = NULL,         /* not used with key = pool: must be NULL */
    @messageId uniqueidentifier = NULL  /* a retry of the same message passes the same id; NULL: a new one */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Sends one message on a conversation that usp_AcquireConversation finds, or raises: it never returns 0
   without the message being part of the transaction. Returns 0; answers by no result set.
   The message goes out with a copy (SentMessage) that stays until it has landed.
   Locks: the row R that leads to the conversation, then the conversation group G, all kept to the
   end of the transaction (the caller''s if there is one). Nothing else is waited for. */
BEGIN
    SET NOCOUNT ON;
    /* Callers come SERIALIZABLE (range locks would tie sessions together), SNAPSHOT (3960) and READ
       UNCOMMITTED. Ends with this procedure (F-116). A SNAPSHOT transaction should have read something
       before its first send, or its own next statement may fail with 3951 (F-144). */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit;
    DECLARE @callerAborts bit;
    DECLARE @errors nvarchar(4000);
    DECLARE @conversationKey nvarchar(200);
    DECLARE @handle uniqueidentifier;
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @body varbinary(max);
    DECLARE @keySequence bigint;
    DECLARE @error int;
    DECLARE @attempt int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: every wrong one is named, then one error is raised                               */
    /* ----------------------------------------------------------------------------------------- */
    /* EndOfStream is no type to be sent: that is for the procedure that deleted the row, once. Names of
       types are compared byte for byte, as SEND compares them (F-376). */
    SELECT @attempt = 0,
        @ownsTransaction = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @callerAborts = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END,
        @conversationKey = NULL,
        @errors = CONCAT(
            CASE WHEN ISNULL(@fromService, N'''') <> N''//redial/etl/initiator''
                THEN N''@fromService must be ''''//redial/etl/initiator''''. '' END,
            CASE WHEN ISNULL(@toService, N'''') <> N''//redial/etl/target''
                THEN N''@toService must be ''''//redial/etl/target''''. '' END,
            CASE WHEN ISNULL(@onContract, N'''') <> N''//redial/etl/contract''
                THEN N''@onContract must be ''''//redial/etl/contract''''. '' END,
            CASE WHEN ISNULL(@messageType, N'''') COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/event'')
                THEN N''@messageType must be one of: ''''//redial/etl/event''''. '' END,

            CASE WHEN @key IS NOT NULL
                THEN N''@key must be NULL: this configuration has key = pool. '' END,
            CASE WHEN @messageId = CONVERT(uniqueidentifier, ''00000000-0000-0000-0000-000000000000'')
                THEN N''@messageId must be NULL or an id of its own, not zero. '' END);

    IF @errors <> N''''
    BEGIN
        SET @errors = LEFT(RTRIM(@errors), 2040);
        THROW 50100, @errors, 1;
    END;

    /* Made once, so that a repeat below is the same message. */
    SET @messageId = ISNULL(@messageId, NEWID());

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Look up, send; start over when the dialog is found dead (bounded)                        */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SELECT @attempt = @attempt + 1, @handle = NULL;

        BEGIN TRY
            /* -- 2.1  Look-up and SEND are one transaction: outside one the row lock ends with the
                       SELECT, and a message is lost after EndOfStream (F-123) ------------------- */
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client''s cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 2.2  R, and with it the right to send on the conversation it leads to ---------------- */
            EXECUTE [etl].[usp_AcquireConversation]
                @conversationKey = @conversationKey OUTPUT,
                @deadHandle = @deadHandle,
                @ownsTransaction = @ownsTransaction,
                @handle = @handle OUTPUT;

            SET @body = (0x52444C31 + CONVERT(binary(2), 46)
                    + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, ''00000000-0000-0000-0000-000000000000'')))
                    + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
                    + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), ''1970-01-01''), SYSUTCDATETIME()))
                    + 0x0000
                    + 0x000000000000
                    ) + ISNULL(@messageBody, 0x);

            /* -- 2.3  G. In a caller''s transaction a dead handle must not doom the caller''s work:
                       XACT_ABORT is OFF for this one statement ---------------------------------- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);

            /* -- 2.4  What belongs to the message. ON: if any of it fails, a caller who goes on after our
                       error can only roll back, and no message is committed without it (F-460) --- */
            SET XACT_ABORT ON;
            UPDATE sc
            SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here (F-464) */
            OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
            INTO [etl].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [etl].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
            IF @@ROWCOUNT <> 1
                THROW 50105, N''The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.'', 1;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW: what an error does to the caller''s
                                           transaction is the caller''s choice */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: no such handle, or it can no longer send; 2627: another transaction of
               this key made the row. All else, and a transaction that can only be rolled back by
               the caller, is the caller''s to know. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5
               OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
            BEGIN
                THROW;
            END;

            /* Without a handle it was an aged dialog that could not be closed: zeros say that one was
               found dead, and nothing is closed in the next attempt (F-150). */
            IF @error <> 2627
                SET @deadHandle = ISNULL(@handle, CONVERT(uniqueidentifier, ''00000000-0000-0000-0000-000000000000''));
        END CATCH;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_04_ufn_ReadBatch.function.sql', 4, N'function', N'[etl].[ufn_ReadBatch]',
N'CREATE OR ALTER FUNCTION [etl].[ufn_ReadBatch](@json nvarchar(max))
RETURNS table
AS
/* Redial 0.1.0, configuration etl */
/* The elements of @json, a JSON array of messages (the caller has checked that it is one), a row each,
   with what is wrong with one in Problem. Made so that no value can raise an error: OPENJSON without a schema tells the type of every value, the
   rest are TRY_CONVERT, and base64 is decoded only where it is base64 (F-330).
   An element: {"ordinal": 1, "type": "...", "body": "base64", "key": "...", "id": "uuid"}; ordinal and
   type are required, null counts as not given. Names are case-sensitive, as JSON''s are; a name that is
   none of the five is a problem, since a misspelt body would be sent as an empty one. */
RETURN
(
    SELECT
        b.body AS MessageBody,
        CONVERT(int, e.[key]) AS Position,
        TRY_CONVERT(int, p.Ordinal) AS Ordinal,
        CONVERT(nvarchar(256), p.MessageType) AS MessageType,
        CONVERT(nvarchar(4000), p.MessageKey) AS MessageKey,
        TRY_CONVERT(uniqueidentifier, p.MessageId) AS MessageId,
        CASE
            WHEN e.[type] <> 5 THEN N''the element must be an object''
            WHEN p.Strange > 0 THEN N''has a property that is none of: ordinal, type, body, key, id''
            WHEN p.Most > 1 THEN N''has a property twice''
            WHEN p.OrdinalKind <= 0 THEN N''ordinal is missing''
            WHEN p.OrdinalKind <> 2 OR TRY_CONVERT(int, p.Ordinal) IS NULL
                THEN N''ordinal must be a whole number from -2147483648 to 2147483647''
            WHEN p.NoText > 0 THEN N''type, body, key and id must be strings or null''
            WHEN p.BodyIsBase64 = 0 THEN N''body must be base64 (RFC 4648, section 4), padded and without line breaks''
            WHEN p.MessageId IS NOT NULL AND (DATALENGTH(p.MessageId) <> 72 OR TRY_CONVERT(uniqueidentifier, p.MessageId) IS NULL)
                THEN N''id must be a uuid of 36 characters''
        END AS Problem
    FROM OPENJSON(@json) AS e
    CROSS APPLY
    (
        SELECT r.OrdinalKind, r.Strange, r.Most, r.NoText, NULLIF(r.Ordinal, N'''') AS Ordinal,
            STUFF(NULLIF(r.MessageType, N''''), 1, 1, N'''') AS MessageType, STUFF(NULLIF(r.MessageKey, N''''), 1, 1, N'''') AS MessageKey,
            STUFF(NULLIF(r.MessageId, N''''), 1, 1, N'''') AS MessageId,
            CASE WHEN r.Body LIKE N''%[^A-Za-z0-9+/=]%'' COLLATE Latin1_General_BIN2 THEN 0
                 WHEN DATALENGTH(r.Body) % 8 <> 0 THEN 0
                 WHEN CHARINDEX(N''='', r.Body) = 0 THEN 1
                 WHEN CHARINDEX(N''='', r.Body) = DATALENGTH(r.Body) / 2 THEN 1
                 WHEN CHARINDEX(N''='', r.Body) = DATALENGTH(r.Body) / 2 - 1 AND RIGHT(r.Body, 1) = N''='' THEN 1
                 ELSE 0 END AS BodyIsBase64
        FROM
        (
            SELECT
                MAX(CASE WHEN v.[key] = N''ordinal'' AND v.[type] <> 0 THEN v.[value] ELSE N'''' END) AS Ordinal,
                MAX(CASE v.[key] WHEN N''ordinal'' THEN v.[type] ELSE -1 END) AS OrdinalKind,
                MAX(CASE WHEN v.[key] = N''body'' AND v.[type] <> 0 THEN v.[value] ELSE N'''' END) AS Body,
                /* A mark before what is given: a NULL in an aggregate warns every caller (8153). */
                MAX(CASE WHEN v.[key] = N''type'' AND v.[type] <> 0 THEN N''='' + v.[value] ELSE N'''' END) AS MessageType,
                MAX(CASE WHEN v.[key] = N''key'' AND v.[type] <> 0 THEN N''='' + v.[value] ELSE N'''' END) AS MessageKey,
                MAX(CASE WHEN v.[key] = N''id'' AND v.[type] <> 0 THEN N''='' + v.[value] ELSE N'''' END) AS MessageId,
                SUM(CASE WHEN v.[key] IN (N''ordinal'', N''type'', N''body'', N''key'', N''id'') THEN 0 ELSE 1 END) AS Strange,
                COUNT(*) - COUNT(DISTINCT v.[key]) + 1 AS Most,
                SUM(CASE WHEN v.[key] <> N''ordinal'' AND v.[type] NOT IN (0, 1) THEN 1 ELSE 0 END) AS NoText
            /* A CASE as the argument: OPENJSON of anything but an object or an array raises 13609. */
            FROM OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N''{}'' END) AS v
        ) AS r
    ) AS p
    CROSS APPLY (SELECT CASE WHEN e.[type] = 5 AND p.NoText = 0 AND p.BodyIsBase64 = 1 THEN e.[value] ELSE N''{}'' END AS [Element]) AS s
    OUTER APPLY OPENJSON (s.[Element]) WITH (body varbinary(max) ''$.body'') AS b
);
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_04_usp_CheckMessages.procedure.sql', 4, N'procedure', N'[etl].[usp_CheckMessages]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_CheckMessages]
    @messages [etl].[MessageBatch] READONLY,
    @problems nvarchar(max)             /* what the caller found wrong already */
AS
/* Redial 0.1.0, configuration etl */
/* The messages of a batch before any is sent: the first ten wrong ones are named, then one error is raised
   (50150). Returns 0 when all are right. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @wrong TABLE (WrongId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Problem nvarchar(400) NOT NULL);
    DECLARE @wrongId int = 0;
    DECLARE @problem nvarchar(400);
    DECLARE @message nvarchar(2048);

    INSERT INTO @wrong (Problem)
    SELECT TOP (10) CONCAT(N''Ordinal '', m.Ordinal, N'': '', w.[Rule], N''. '')
    FROM @messages AS m
    CROSS APPLY
    (
        SELECT N''MessageType must be one of: ''''//redial/etl/event'''''' AS [Rule]
        WHERE ISNULL(m.MessageType, N'''') COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/event'')
        UNION ALL
        SELECT N''MessageKey must be NULL: this configuration has key = pool''
        WHERE m.MessageKey IS NOT NULL
        UNION ALL
        SELECT N''MessageId must be NULL or an id of its own, not zero''
        WHERE m.MessageId = CONVERT(uniqueidentifier, ''00000000-0000-0000-0000-000000000000'')
    ) AS w
    ORDER BY m.Ordinal;

    INSERT INTO @wrong (Problem)
    SELECT TOP (10) CONCAT(N''Ordinal '', d.Ordinal, N'': MessageId is also another message''''s. '')
    FROM (SELECT m.Ordinal, COUNT(*) OVER (PARTITION BY m.MessageId) AS Times
          FROM @messages AS m
          WHERE m.MessageId IS NOT NULL) AS d
    WHERE d.Times > 1
    ORDER BY d.Ordinal;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @wrongId = w.WrongId, @problem = w.Problem FROM @wrong AS w WHERE w.WrongId > @wrongId ORDER BY w.WrongId;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @problems = @problems + @problem;
    END;

    IF @problems <> N''''
    BEGIN
        SET @message = LEFT(CONCAT(N''Nothing was sent. '', RTRIM(@problems)), 2040);
        THROW 50150, @message, 1;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_05_usp_SendMessages.procedure.sql', 4, N'procedure', N'[etl].[usp_SendMessages]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_SendMessages]
    @messages [etl].[MessageBatch] READONLY,
    @problems nvarchar(max) = N'''',      /* what the caller found wrong already; raised with the rest */
    @sent int = NULL OUTPUT,            /* how many messages were sent */
    @dialogs int = NULL OUTPUT,         /* conversations the messages went out on */
    @replays int = NULL OUTPUT          /* how often all of it was done again */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Sends all messages or none, strictly in the order of Ordinal; what usp_SendBatch and the view Outbox
   have in common. Each message has its copy, as in usp_Send. A dialog found dead is replaced, so a key''s
   messages are on one dialog: in a transaction of its own all is undone and sent again (bounded). In the
   caller''s that key is sent on a new dialog, for SEND holds what it has sent on: a dialog is dead before
   the key''s first message. An error behind the first SEND there leaves a transaction that can only roll
   back. No savepoint: whether one takes back SEND is nowhere said (F-333), and distributed ones have none.
   Locks: the row R of every key, in the order of the keys, before the first SEND; then as usp_Send. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller''s SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;     /* as usp_Send does, for its reasons */

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    /* Table variables keep their rows over a ROLLBACK: keys found dead and ids made are remembered. */
    DECLARE @keys TABLE
    (
        KeyNumber int NOT NULL PRIMARY KEY,
        ConversationKey nvarchar(200) NULL UNIQUE,
        Handle uniqueidentifier NULL,
        DeadHandle uniqueidentifier NULL,
        LastSequence bigint NULL
    );
    DECLARE @ids TABLE (Ordinal int NOT NULL PRIMARY KEY, MessageId uniqueidentifier NOT NULL);
    DECLARE @messageId uniqueidentifier;
    DECLARE @keyCount int;
    DECLARE @keyNumber int;
    DECLARE @conversationKey nvarchar(200);
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @handle uniqueidentifier;
    DECLARE @ordinal int = NULL;
    DECLARE @last int = NULL;           /* the last message that is in the transaction */
    DECLARE @messageType sysname;
    DECLARE @body varbinary(max);
    DECLARE @messageKey nvarchar(200);
    DECLARE @keySequence bigint = NULL;
    DECLARE @attempt int = 0;
    DECLARE @error int;

    /* -- 1  Inputs -- */
    EXECUTE [etl].[usp_CheckMessages] @messages = @messages, @problems = @problems;

    /* -- 2  What a replay must find again: keys, ids -- */
    SELECT @sent = COUNT(*), @dialogs = 0, @replays = 0 FROM @messages;
    IF @sent = 0
        RETURN 0;

    INSERT INTO @keys (KeyNumber, ConversationKey)
    VALUES (1, NULL);
    SELECT @keyCount = COUNT(*), @dialogs = COUNT(*) FROM @keys;
    INSERT INTO @ids (Ordinal, MessageId)
    SELECT m.Ordinal, ISNULL(m.MessageId, NEWID()) FROM @messages AS m;

    /* -- 3  All of it; once more when a dialog is found dead (bounded: every attempt replaces one
             key''s dialog, and five more for those another session replaces meanwhile) -- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        BEGIN TRY
            SET @handle = NULL;
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client''s cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 3.1  R of every key, in the order of the keys: two batches cannot deadlock over R -- */
            WHILE 1 = 1
            BEGIN
                SELECT TOP (1) @keyNumber = k.KeyNumber, @conversationKey = k.ConversationKey, @deadHandle = k.DeadHandle
                FROM @keys AS k WHERE k.Handle IS NULL
                ORDER BY k.KeyNumber;
                IF @@ROWCOUNT = 0
                    BREAK;

                SET @handle = NULL;
                EXECUTE [etl].[usp_AcquireConversation]
                    @conversationKey = @conversationKey OUTPUT,
                    @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction,
                    @handle = @handle OUTPUT;

                UPDATE @keys SET Handle = @handle, ConversationKey = @conversationKey, LastSequence = @keySequence WHERE KeyNumber = @keyNumber;
            END;

            /* -- 3.2  The messages, by seeks on the type''s primary key: a cursor would be closed by a
                       ROLLBACK or a caller''s CURSOR_CLOSE_ON_COMMIT, or copy every body first --- */
            SET @ordinal = ISNULL(@ordinal, (SELECT MIN(m.Ordinal) FROM @messages AS m));
            WHILE @ordinal IS NOT NULL
            BEGIN
                SELECT @messageType = m.MessageType, @body = m.MessageBody, @messageKey = m.MessageKey
                FROM @messages AS m WHERE m.Ordinal = @ordinal;
                SELECT @messageId = i.MessageId FROM @ids AS i WHERE i.Ordinal = @ordinal;

                SELECT @keyNumber = k.KeyNumber, @handle = k.Handle, @conversationKey = k.ConversationKey
                FROM @keys AS k WHERE k.KeyNumber = 1;

                SET @body = (0x52444C31 + CONVERT(binary(2), 46)
                        + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, ''00000000-0000-0000-0000-000000000000'')))
                        + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
                        + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), ''1970-01-01''), SYSUTCDATETIME()))
                        + 0x0000
                        + 0x000000000000
                        ) + ISNULL(@body, 0x);

                /* A dead handle must not doom the caller''s work: OFF for this one statement (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);

                /* ON: a cancel here leaves no message without its copy, as in usp_Send (F-460). */
                SET XACT_ABORT ON;
                SET @last = @ordinal;
                UPDATE sc
                SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here (F-464) */
                OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
                INTO [etl].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
                FROM [etl].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
                IF @@ROWCOUNT <> 1
                    THROW 50105, N''The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.'', 1;

                IF @ownsTransaction = 0 AND @callerAborts = 0
                    SET XACT_ABORT OFF;

                SET @ordinal = (SELECT TOP (1) m.Ordinal FROM @messages AS m WHERE m.Ordinal > @ordinal ORDER BY m.Ordinal);
            END;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            SET @replays = @attempt - 1;
            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW, as in usp_Send */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* As in usp_Send: 8426, 8429 a dead dialog, 2627 the key''s row was made meanwhile. In the caller''s
               transaction not behind a message of this key: it would be split over two dialogs. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5 + @keyCount
               OR (@ownsTransaction = 0
                   AND (XACT_STATE() <> 1
                        OR @last IS NOT NULL))
            BEGIN
                IF @last IS NOT NULL
                    SET XACT_ABORT ON;  /* a caller who goes on must not commit half a batch */
                THROW;
            END;

            /* Zeros: an aged dialog was found dead, close nothing in the next attempt (F-150). */
            UPDATE @keys
            SET DeadHandle = CASE WHEN @error = 2627 THEN DeadHandle ELSE ISNULL(@handle, ''00000000-0000-0000-0000-000000000000'') END
            WHERE KeyNumber = @keyNumber;
            IF @ownsTransaction = 1
                SELECT @ordinal = NULL, @last = NULL;
            UPDATE @keys SET Handle = NULL WHERE @ownsTransaction = 1 OR KeyNumber = @keyNumber;
        END CATCH;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_06_usp_SendBatch.procedure.sql', 4, N'procedure', N'[etl].[usp_SendBatch]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_SendBatch]
    /* Leave out what has a default: it is the only one that this configuration has. */
    @fromService sysname = N''//redial/etl/initiator'',
    @toService sysname = N''//redial/etl/target'',
    @onContract sysname = N''//redial/etl/contract'',
    @messages [etl].[MessageBatch] READONLY,   /* the messages; leave it out where @json has them */
    @json nvarchar(max) = NULL          /* [{"ordinal": 1, "type": "...", "body": "base64", "key": null, "id": null}, ...] */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Sends a batch: all messages or none, in the order of their ordinals, in one round trip. Returns 0 and
   one row: MessagesSent, DialogsUsed, Replays (how often all was done again because a dialog was found
   dead), FirstOrdinal, LastOrdinal (NULL for an empty batch, which is no error).
   An error that leaves the caller''s transaction alive leaves nothing of the batch in it; see
   usp_SendMessages. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller''s SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @problems nvarchar(max) = N'''';
    DECLARE @found nvarchar(max);
    DECLARE @sent int;
    DECLARE @dialogs int;
    DECLARE @replays int;
    DECLARE @batch [etl].[MessageBatch];
    DECLARE @elements TABLE
    (
        Position int NOT NULL PRIMARY KEY,
        Ordinal int NULL,
        MessageType nvarchar(256) NULL,
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL,
        Problem nvarchar(400) NULL
    );
    DECLARE @position int = -1;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: what is wrong is collected, and raised once by usp_SendMessages                  */
    /* ----------------------------------------------------------------------------------------- */
    IF ISNULL(@fromService, N'''') <> N''//redial/etl/initiator''
        SET @problems = @problems + N''@fromService must be ''''//redial/etl/initiator''''. '';
    IF ISNULL(@toService, N'''') <> N''//redial/etl/target''
        SET @problems = @problems + N''@toService must be ''''//redial/etl/target''''. '';
    IF ISNULL(@onContract, N'''') <> N''//redial/etl/contract''
        SET @problems = @problems + N''@onContract must be ''''//redial/etl/contract''''. '';
    IF @json IS NOT NULL AND EXISTS (SELECT 1 FROM @messages)
        SET @problems = @problems + N''@messages and @json must not both have messages: give one of them. '';
    /* Valid JSON begins with a bracket or a brace; which of them comes first tells an array. */
    IF @json IS NOT NULL
       AND (ISJSON(@json) = 0 OR CHARINDEX(N''['', @json) = 0
            OR CHARINDEX(N''{'', @json) BETWEEN 1 AND CHARINDEX(N''['', @json))
    BEGIN
        SET @problems = @problems + N''@json must be a JSON array of objects with ordinal, type, body (base64), key and id. '';
        SET @json = NULL;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  JSON: read once, wrong elements are named by ordinal, or by position where they have none */
    /* ----------------------------------------------------------------------------------------- */
    IF @json IS NOT NULL
    BEGIN
        INSERT INTO @elements (Position, Ordinal, MessageType, MessageBody, MessageKey, MessageId, Problem)
        SELECT e.Position, e.Ordinal, e.MessageType, e.MessageBody, e.MessageKey, e.MessageId,
            CASE WHEN e.Problem IS NULL AND ROW_NUMBER() OVER (PARTITION BY e.Ordinal ORDER BY e.Position) > 1
                THEN N''ordinal is also another element''''s'' ELSE e.Problem END
        FROM [etl].[ufn_ReadBatch](@json) AS e;

        INSERT INTO @batch (Ordinal, MessageType, MessageBody, MessageKey, MessageId)
        SELECT e.Ordinal, e.MessageType, e.MessageBody, e.MessageKey, e.MessageId
        FROM @elements AS e
        WHERE e.Problem IS NULL;

        WHILE LEN(@problems) < 2048     /* what an error can show */
        BEGIN
            SELECT TOP (1) @position = e.Position,
                @found = CONCAT(CASE WHEN e.Ordinal IS NULL THEN CONCAT(N''Element '', e.Position + 1) ELSE CONCAT(N''Ordinal '', e.Ordinal) END,
                    N'': '', e.Problem, N''. '')
            FROM @elements AS e
            WHERE e.Position > @position AND e.Problem IS NOT NULL
            ORDER BY e.Position;
            IF @@ROWCOUNT = 0
                BREAK;
            SET @problems = @problems + @found;
        END;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Send, then answer                                                                        */
    /* ----------------------------------------------------------------------------------------- */
    IF @json IS NULL
        EXECUTE [etl].[usp_SendMessages]
            @messages = @messages, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;
    ELSE
        EXECUTE [etl].[usp_SendMessages]
            @messages = @batch, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;

    SELECT @sent AS MessagesSent, @dialogs AS DialogsUsed, @replays AS Replays,
        MIN(a.Ordinal) AS FirstOrdinal, MAX(a.Ordinal) AS LastOrdinal
    FROM (SELECT m.Ordinal FROM @messages AS m
          UNION ALL
          SELECT b.Ordinal FROM @batch AS b) AS a;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_07_Outbox.view.sql', 4, N'view', N'[etl].[Outbox]',
N'CREATE OR ALTER VIEW [etl].[Outbox]
AS
/* Redial 0.1.0, configuration etl */
/* Sending by INSERT, for tools that can do nothing else: each row is a message of usp_SendMessages, the
   rows of one statement are one batch, sent in the order of Ordinal (Outbox_Insert). The view shows no
   row and has no table behind it, so whatever inserts past its trigger (BULK INSERT and bcp do, unless
   told FIRE_TRIGGERS) fails with 4406 instead of storing rows nobody sends (F-332). */
SELECT
    CONVERT(int, NULL) AS Ordinal,
    CONVERT(nvarchar(256), NULL) AS MessageType,
    CONVERT(varbinary(max), NULL) AS MessageBody,
    CONVERT(nvarchar(4000), NULL) AS MessageKey,
    CONVERT(uniqueidentifier, NULL) AS MessageId
WHERE 1 = 0;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_08_Outbox_Insert.trigger.sql', 4, N'trigger', N'[etl].[Outbox_Insert]',
N'CREATE OR ALTER TRIGGER [etl].[Outbox_Insert]
ON [etl].[Outbox]
WITH EXECUTE AS N''etl_module''
INSTEAD OF INSERT
AS
/* Redial 0.1.0, configuration etl */
/* Sends the rows of one INSERT: all or none, in the order of Ordinal. An error rolls back the whole
   transaction of the INSERT: triggers run under XACT_ABORT ON (create-trigger-transact-sql). */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* the INSERT itself is cut by it, what it inserted is not (F-331) */

    DECLARE @problems nvarchar(max) = N'''';
    DECLARE @ordinal int = NULL;
    DECLARE @nulls int;
    DECLARE @duplicates int;
    DECLARE @batch [etl].[MessageBatch];

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Ordinals: every row has one, and no other row of the statement has it                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @nulls = (SELECT COUNT(*) FROM inserted AS i WHERE i.Ordinal IS NULL);
    IF @nulls > 0
        SET @problems = @problems + CONCAT(N''Ordinal must not be NULL, and is in '', @nulls, N'' rows. '');

    SELECT @duplicates = COUNT(*), @ordinal = MIN(d.Ordinal)
    FROM (SELECT i.Ordinal FROM inserted AS i WHERE i.Ordinal IS NOT NULL GROUP BY i.Ordinal HAVING COUNT(*) > 1) AS d;
    IF @duplicates > 0
        SET @problems = @problems + CONCAT(N''Ordinal must be given once in a statement; '', @duplicates, N'' are given more often, the first is '', @ordinal, N''. '');

    /* ----------------------------------------------------------------------------------------- */
    /* 2  One row per ordinal, so that the rest is checked too; usp_SendMessages raises it all     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @batch (Ordinal, MessageType, MessageBody, MessageKey, MessageId)
    SELECT n.Ordinal, n.MessageType, n.MessageBody, n.MessageKey, n.MessageId
    FROM (SELECT i.Ordinal, i.MessageType, i.MessageBody, i.MessageKey, i.MessageId,
                 ROW_NUMBER() OVER (PARTITION BY i.Ordinal ORDER BY i.Ordinal) AS Nth
          FROM inserted AS i
          WHERE i.Ordinal IS NOT NULL) AS n
    WHERE n.Nth = 1;

    EXECUTE [etl].[usp_SendMessages] @messages = @batch, @problems = @problems;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_09_usp_BeginPartition.procedure.sql', 4, N'procedure', N'[etl].[usp_BeginPartition]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_BeginPartition]
    @jobId nvarchar(4000),              /* name of the job, the same when it is run again; 1 to 128 characters */
    @batchId bigint,                    /* its batch: of a stream the number Spark gives it, else 0 */
    @partitionId int,                   /* the piece of the batch, 0 or more */
    @chunk int = 0                      /* part of the piece, 0 or more; 0 where it goes out as one */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Asks whether a piece of work that may be run twice still has to be sent. Called in the transaction
   that then sends it and ends with usp_EndPartition. Returns 0 and one row: AlreadySent bit,
   MessageCount bigint, ContentHash binary(32), SentUtc datetime2(3); the last three are NULL where
   AlreadySent is 0.
   AlreadySent = 1: send nothing, call usp_EndPartition all the same, which compares.
   Locks: the ledger''s row before any row R of usp_Send; a second attempt at the same piece waits here,
   holding nothing, until the first commits or is rolled back. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller''s SET ROWCOUNT would cut the look-up (F-331) */
    SET XACT_ABORT OFF;                 /* 2627 below is an answer, and must not doom the caller''s work */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @job nvarchar(128) = LEFT(@jobId, 128);
    DECLARE @attempt int = 0;
    DECLARE @found bit = 0;
    DECLARE @messages bigint = NULL;
    DECLARE @hash binary(32) = NULL;
    DECLARE @sentUtc datetime2(3) = NULL;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs                                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT = 0
        THROW 50241, N''usp_BeginPartition must be called in the transaction that sends the messages: BEGIN TRANSACTION first.'', 1;
    IF ISNULL(DATALENGTH(@jobId), 0) NOT BETWEEN 2 AND 256
        SET @errors = @errors + N''@jobId must be a name of 1 to 128 characters. '';
    IF @batchId IS NULL
        SET @errors = @errors + N''@batchId must be a bigint, not NULL. '';
    IF ISNULL(@partitionId, -1) < 0
        SET @errors = @errors + N''@partitionId must be 0 to 2147483647. '';
    IF ISNULL(@chunk, -1) < 0
        SET @errors = @errors + N''@chunk must be 0 to 2147483647. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50240, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Make the row; one that is there tells that the piece is sent. Twice at most: it can go     */
    /*    between the refusal and the look (usp_PurgeSendLedger)                                     */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        SELECT @found = 1, @messages = sl.MessageCount, @hash = sl.ContentHash, @sentUtc = sl.SentUtc
        FROM [etl].[SendLedger] AS sl
            /* READCOMMITTEDLOCK: wait for an attempt that is sending this piece now, also in a database
               of row versions, where a plain read would not see it. One row of the clustered key. */
            WITH (READCOMMITTEDLOCK, ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)
        WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk;
        IF @found = 1
            BREAK;

        BEGIN TRY
            INSERT INTO [etl].[SendLedger] (JobId, BatchId, PartitionId, Chunk)
            VALUES (@job, @batchId, @partitionId, @chunk);
            BREAK;
        END TRY
        BEGIN CATCH
            /* 2627: another attempt has just sent it; look again. */
            IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @attempt >= 3
                THROW;
        END CATCH;
    END;

    IF @found = 1 AND @messages IS NULL
        THROW 50242, N''This piece was begun and not ended: usp_BeginPartition and usp_EndPartition are called once each, in one transaction.'', 1;

    SELECT @found AS AlreadySent, @messages AS MessageCount, @hash AS ContentHash, @sentUtc AS SentUtc;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'72_10_usp_EndPartition.procedure.sql', 4, N'procedure', N'[etl].[usp_EndPartition]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_EndPartition]
    @jobId nvarchar(4000),              /* these four as in usp_BeginPartition */
    @batchId bigint,
    @partitionId int,
    @chunk int = 0,                     /* 0 where the piece went out as one */
    @messageCount bigint,               /* messages of the piece, sent now or already */
    @contentHash binary(32)             /* SHA2_256 over them, by a rule of the caller''s that stays the same */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Ends a piece that usp_BeginPartition began. Sent now: its count and hash are kept. Sent already: they
   are compared, and a run that would have sent something else raises 50243: the job is not
   deterministic, and neither run is the right one. Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller''s SET ROWCOUNT would cut the look-up (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @job nvarchar(128) = LEFT(@jobId, 128);
    DECLARE @messages bigint = NULL;
    DECLARE @hash binary(32) = NULL;
    DECLARE @sentUtc datetime2(3) = NULL;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs                                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT = 0
        THROW 50241, N''usp_EndPartition must be called in the transaction of usp_BeginPartition, before its COMMIT.'', 1;
    IF ISNULL(DATALENGTH(@jobId), 0) NOT BETWEEN 2 AND 256
        SET @errors = @errors + N''@jobId must be a name of 1 to 128 characters. '';
    IF ISNULL(@messageCount, -1) < 0
        SET @errors = @errors + N''@messageCount must be 0 or more. '';
    IF @contentHash IS NULL
        SET @errors = @errors + N''@contentHash must be 32 bytes, not NULL. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50240, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  The row of this transaction is the only one that can be open                              */
    /* ----------------------------------------------------------------------------------------- */
    UPDATE sl
    SET MessageCount = @messageCount, ContentHash = @contentHash
    FROM [etl].[SendLedger] AS sl
        WITH (ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)  /* one row, by its clustered key */
    WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk
      AND sl.MessageCount IS NULL;
    IF @@ROWCOUNT = 1
        RETURN 0;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Sent before: the same?                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    SELECT @messages = sl.MessageCount, @hash = sl.ContentHash, @sentUtc = sl.SentUtc
    FROM [etl].[SendLedger] AS sl
        WITH (READCOMMITTEDLOCK, ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)   /* the same row */
    WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk;
    IF @messages IS NULL
        THROW 50242, N''There is no such piece: call usp_BeginPartition first, in the same transaction.'', 1;

    IF @messages <> @messageCount OR @hash <> @contentHash
    BEGIN
        SET @errors = CONCAT(N''Job '', @job, N'', batch '', @batchId, N'', partition '', @partitionId, N'', chunk '', @chunk,
            N'' was sent at '', CONVERT(nvarchar(30), @sentUtc, 126), N'' UTC with '', @messages,
            N'' messages, and this run has '', @messageCount, CASE WHEN @messages = @messageCount THEN N'' others'' END,
            N''. Nothing was sent now. Next: make its input deterministic (no rand, no round robin over retries, a fixed order), or run it under a new job id.'');
        SET @errors = REPLACE(@errors, N''%'', N''%%'');    /* F-133 */
        THROW 50243, @errors, 1;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_01_usp_RecycleConversation.procedure.sql', 4, N'procedure', N'[etl].[usp_RecycleConversation]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit,               /* 1: its time has come. 0: the dialog has ended, free its slot */
    @waitMs int = 0                     /* how long to queue up for the row with its senders; 0: not at all */
AS
/* Redial 0.1.0, configuration etl */
/* Recycles one dialog: takes R, then G, as usp_Send does. It waits for R only
   when told to, a bounded time and holding nothing, and for N not at all: nobody can wait for it then (F-127).
   Deleting the row is the right to send EndOfStream, so it is sent once (F-128).
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error, 3 no row leads to the
   dialog (any more): nothing was done. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* no savepoints here: any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @conversationKey nvarchar(200);
    DECLARE @taken int = 0;
    DECLARE @lockTimeout int = @@LOCK_TIMEOUT;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  The proof needs empty hands: no lock may be held on entry                                */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT <> 0
        THROW 50120, N''usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.'', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 2  Handle to key, holding nothing                                                     */
            /* ------------------------------------------------------------------------------------ */
            SET @conversationKey = NULL;
            SET @taken = 0;
            SELECT @conversationKey = sc.ConversationKey
            FROM [etl].[SessionConversations] AS sc
                /* A read of the Handle index by a short lock, which does not stay. NOWAIT: a sender
                   in a long transaction may be writing this entry, and a queue reader must not wait
                   for it. READCOMMITTEDLOCK: by locks under READ_COMMITTED_SNAPSHOT too, where a
                   row version would call an entry that is just being written gone (F-375). */
                WITH (NOWAIT, READCOMMITTEDLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ------------------------------------------------------------------------------------ */
            /* 3  R, then G                                                                          */
            /* ------------------------------------------------------------------------------------ */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;

                SET LOCK_TIMEOUT @waitMs;       /* for R and no other wait; 0 is NOWAIT (F-132) */

                UPDATE sc               /* the slot stays, unused */
                SET Handle = NEWID(),
                    ConversationId = NULL,
                    Sent = 0,
                    BegunUtc = NULL,
                    RecycleAtUtc = NULL,
                    RecycleAtMessages = NULL
                FROM [etl].[SessionConversations] AS sc
                    /* INDEX, FORCESEEK: locks the clustered key first, the Handle entry after it. By
                       Handle it would be the other way round and deadlock with a sender (F-120).
                       A busy row is in use by a sender; its next visitor asks again.
                       ROWLOCK: one row. Handle is checked again, under the lock. */
                    WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                WHERE sc.ConfigId = 1
                  AND sc.ConversationKey = @conversationKey
                  AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;

                SET LOCK_TIMEOUT @lockTimeout;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [etl].[usp_SendEndOfStream] @handle = @handle;

                COMMIT TRANSACTION;
            END;

            RETURN CASE WHEN @taken = 1 THEN 0 ELSE 3 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            SET LOCK_TIMEOUT @lockTimeout;

            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* The dialog is dead, so nobody can or need be told: delete the row and stop. */
            IF ERROR_NUMBER() IN (8426, 8429) AND @sendEndOfStream = 1
                SET @sendEndOfStream = 0;
            ELSE
            BEGIN
                EXECUTE [etl].[usp_LogError] @procedureName = N''usp_RecycleConversation'', @handle = @handle;
                RETURN 2;
            END;
        END CATCH;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_02_usp_MoveCopies.procedure.sql', 4, N'procedure', N'[etl].[usp_MoveCopies]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_MoveCopies]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the initiator''s; where that is gone, @conversationId again */
    @code int,                          /* why it ended: of the Error message; 0: without one; NULL: unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said; kept with a dead letter */
    @allowResend bit = 1,               /* 0: dead-letter everything (a resend failed before) */
    @waitMs int = 0,                    /* how long to wait for a reader that is at work on the dialog */
    @target uniqueidentifier = ''00000000-0000-0000-0000-000000000000'',  /* zeros: to be looked up; NULL: there is none */
    @resent bigint = NULL OUTPUT,       /* messages that are on a dialog of their own now */
    @deadLettered bigint = NULL OUTPUT  /* messages that are in DeadLetter now */
AS
/* Redial 0.1.0, configuration etl */
/* What a dialog has not landed goes on: on a dialog of its own, or to DeadLetter, byte-exact. Called in a
   transaction that knows that no sender is at work on the dialog and none can be any more.
   Ends the target''s side first: what a reader is landing now is landed then, and nothing more will be
   (F-462). Locks: the target''s conversation group; then the copies, which are nobody else''s by then.
   Returns 0, or 1: a reader is at work on the dialog, and the caller rolls all of it back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @state char(2);
    DECLARE @lockTimeout int = @@LOCK_TIMEOUT;
    DECLARE @newHandle uniqueidentifier;
    DECLARE @earlier uniqueidentifier = @handle;
    DECLARE @resends int = 0;           /* how often these messages were sent again already */
    DECLARE @rows [etl].[ReceivedBatch];
    DECLARE @rowCount int;
    DECLARE @bad TABLE (RowId int NOT NULL PRIMARY KEY, IsDead bit NOT NULL);   /* the refused one, and what goes alone */
    DECLARE @number nvarchar(3000);     /* the last one in the error''s text */
    DECLARE @most int;                  /* on one dialog */
    DECLARE @sent int;
    DECLARE @alone int;
    DECLARE @left int;
    DECLARE @goesOn bit;

    SELECT @resent = 0, @deadLettered = 0;

    IF @@TRANCOUNT = 0
        THROW 50125, N''usp_MoveCopies must be called inside the transaction that has made sure that nobody sends on the dialog.'', 1;

    /* The ordinary end: the target has ended first, and everything has landed. The look at all endpoints
       below is spared (whether the view can be sought by conversation_id is unknown, F-153). */
    IF @code >= 0
       AND NOT EXISTS (SELECT 1
                       FROM [etl].[SentMessage] AS sm
                           WITH (NOLOCK, FORCESEEK)     /* one a reader is just taking away lands, or stays */
                       WHERE sm.ConversationId = @conversationId)
        RETURN 0;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  The target''s side, if it is still open. END deletes what is unread there: its copies are here */
    /* ----------------------------------------------------------------------------------------- */
    IF @target = ''00000000-0000-0000-0000-000000000000''
        SET @target = (SELECT TOP (1) ce.conversation_handle FROM sys.conversation_endpoints AS ce WITH (NOLOCK)    /* as below */
                       WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 0);
    SELECT @state = ce.state
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* waits for nobody; END looks again under its lock (F-126) */
    WHERE ce.conversation_handle = @target;

    IF @target IS NOT NULL
    BEGIN
        BEGIN TRY
            SET XACT_ABORT OFF;         /* for END alone: these errors leave the transaction standing */
            SET LOCK_TIMEOUT @waitMs;
            /* DO, CD: it has ended already. Another END would be refused (8427, 8426), which may doom. A read
               that may wait: a reader may be just ending it, and not go through with it. */
            IF @state IN (''DO'', ''CD'')
                SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @target;
            IF @state NOT IN (''DO'', ''CD'')
                END CONVERSATION @target;
        END TRY
        BEGIN CATCH
            /* A lock that did not come, whether that dooms the transaction or not (F-277). */
            IF ERROR_NUMBER() IN (1205, 1222)
                RETURN 1;
            /* 8426, 8427: somebody has ended it meanwhile; where that dooms, the next look sees it. */
            IF ERROR_NUMBER() NOT IN (8426, 8427)
                THROW;
            IF XACT_STATE() <> 1
                RETURN 1;
        END CATCH;

        SET LOCK_TIMEOUT @lockTimeout;
        SET XACT_ABORT ON;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  What has not landed, in its order                                                    */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @rows (MessageSequence, MessageType, Body)
    SELECT sm.MessageSequence, sm.MessageType, sm.Body
    FROM [etl].[SentMessage] AS sm
        /* UPDLOCK: two that find a stranded dialog at once, one after the other; the second finds nothing.
           FORCESEEK: this dialog''s rows only. */
        WITH (UPDLOCK, ROWLOCK, FORCESEEK)
    WHERE sm.ConversationId = @conversationId
    ORDER BY sm.MessageSequence;

    SELECT @rowCount = @@ROWCOUNT, @most = @@ROWCOUNT;
    IF @rowCount = 0
        RETURN 0;

    /* CLOSED a moment ago, by a reader that has rolled back while its copies were waited for: it will land
       them. A plain read may not have waited for it (F-126). */
    IF @state = ''CD''
       AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                   WHERE ce.conversation_handle = @target AND ce.state <> ''CD'')
        RETURN 1;

    /* Somebody may end every dialog as soon as it is there: not for ever. */
    WHILE @resends < 20
    BEGIN
        SELECT @earlier = cl.ResendOf
        FROM [etl].[ConversationLog] AS cl
            WITH (NOLOCK, FORCESEEK)        /* written once, when the dialog was begun */
        WHERE cl.Handle = @earlier AND cl.ResendOf IS NOT NULL;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @resends = @resends + 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Refused for a body (F-366): one message, which the rule of its type or the last number in the */
    /*    error''s text tells. Others that break the rule too go alone and hear for themselves. Told by */
    /*    neither: in two halves, until one is left                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @code IN (-8430, -9615, -9616)
    BEGIN
        SET @number = REVERSE(@description);
        SET @number = STUFF(@number, 1, PATINDEX(N''%[0-9]%'', @number) - 1, N'''');
        SET @number = REVERSE(LEFT(@number, PATINDEX(N''%[^0-9]%'', @number + N'' '') - 1));

        INSERT INTO @bad (RowId, IsDead)
        SELECT r.RowId, CASE WHEN COUNT(*) OVER () > 1000       /* not a dialog for each of so many */
            OR ROW_NUMBER() OVER (ORDER BY w.Breaks + w.IsNamed DESC, w.Breaks DESC, r.RowId ASC) = 1 THEN 1 ELSE 0 END
        FROM @rows AS r
        LEFT OUTER JOIN sys.service_message_types AS mt
            ON mt.name COLLATE Latin1_General_BIN2 = r.MessageType COLLATE Latin1_General_BIN2
        CROSS APPLY
        (
            SELECT CASE WHEN r.Body IS NOT NULL AND (mt.validation = ''E'' OR (mt.validation = ''X'' AND TRY_CONVERT(xml, r.Body) IS NULL)) THEN 1 ELSE 0 END AS Breaks,
                CASE WHEN @code <> -8430 AND r.MessageSequence = TRY_CONVERT(bigint, @number) THEN 1 ELSE 0 END AS IsNamed
        ) AS w
        WHERE w.Breaks = 1 OR w.IsNamed = 1 OR @rowCount = 1;
        IF @@ROWCOUNT = 0 OR @resends = 20
            SET @most = (@rowCount + 1) / 2;
    END
    ELSE IF @resends = 20
        SET @description = LEFT(CONCAT(N''Sent again 20 times, and every dialog was ended. '', @description), 3000);

    /* ----------------------------------------------------------------------------------------- */
    /* 4  Again, after errors that say nothing against the message itself (F-111); else, positive  */
    /*    codes too, and what was sent again twenty times, to DeadLetter                           */
    /* ----------------------------------------------------------------------------------------- */
    SET @goesOn = CASE WHEN @allowResend = 1 AND (@code IN (-8430, -9615, -9616) OR (@resends < 20 AND @code IN (0, -8489, -8462, -9719, -9720, -28052)))
        THEN 1 ELSE 0 END;
    INSERT INTO [etl].[DeadLetter]
        (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
    SELECT N''initiator'', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body, @code, @description
    FROM @rows AS r
    WHERE @goesOn = 0 OR EXISTS (SELECT 1 FROM @bad AS b WHERE b.RowId = r.RowId AND b.IsDead = 1)
    ORDER BY r.RowId;
    SET @left = @rowCount - @@ROWCOUNT;
    SET @deadLettered = @rowCount - @left;

    /* What goes on, and no more: were somebody to send on the dialog after all, his copy stays. */
    DELETE sm
    FROM @rows AS r
    INNER JOIN [etl].[SentMessage] AS sm
            WITH (ROWLOCK, FORCESEEK)
        ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
    OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */

    /* Those that go alone come last. */
    INSERT INTO @rows (MessageSequence, MessageType, Body)
    SELECT r.MessageSequence, r.MessageType, r.Body
    FROM @rows AS r INNER JOIN @bad AS b ON b.RowId = r.RowId
    WHERE b.IsDead = 0
    ORDER BY r.RowId;
    SET @alone = @@ROWCOUNT;
    DELETE r FROM @rows AS r INNER JOIN @bad AS b ON b.RowId = r.RowId;
    WHILE @left > 0
    BEGIN
        SET @most = CASE WHEN @left <= @alone THEN 1 WHEN @most > @left - @alone THEN @left - @alone ELSE @most END;
        EXECUTE [etl].[usp_SendPrivately] @messages = @rows, @resendOf = @handle, @reason = @description,
            @most = @most, @sent = @sent OUTPUT, @handle = @newHandle OUTPUT;
        SELECT @left -= @sent, @resent += @sent;
        DELETE r FROM @rows AS r
        WHERE r.RowId IN (SELECT TOP (@sent) f.RowId FROM @rows AS f ORDER BY f.RowId);
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_03_usp_ResendPending.procedure.sql', 4, N'procedure', N'[etl].[usp_ResendPending]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ResendPending]
    @handle uniqueidentifier,           /* the initiator''s handle of the dialog that ended or failed */
    @code int,                          /* code of the Error message; 0 for EndDialog; NULL unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said; kept with the code */
    @allowResend bit = 1,                /* 0: dead-letter everything (a resend failed before) */
    @waitMs int = 1000                  /* how long to wait for a reader of the target; 0: an activation not yet replaced */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Accounts for every message of a dialog that has not landed, then ends the dialog, all in one
   transaction: sent again on a dialog of their own, or copied byte-exact to DeadLetter. Locks: the group
   of @handle, then of its target, of the dialog begun here; never R.
   One transaction whatever its size: millions need room in the log for about three times their bytes, in
   tempdb for once, and a quiet hour; a rollback leaves everything as it was. Activation takes up to
   100000 messages (operations.resend_limit); usp_Health names dialogs with more,
   which wait for an operator''s call. Returns 0, or 1: a reader of the target is at work on the dialog, and
   nothing was done; inside a caller''s transaction that is error 50113. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller''s would cut what is accounted for (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @state char(2);
    DECLARE @sent bigint;
    DECLARE @resent bigint;
    DECLARE @deadLettered bigint;
    DECLARE @busy int;

    /* Inside of its RECEIVE, where nothing may wait: it calls again when it has committed that. */
    IF @waitMs = 0
        RETURN 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Ours, and the side that sends: the module user may own others'' conversations too          */
    /* ----------------------------------------------------------------------------------------- */
    IF NOT EXISTS (SELECT 1
                   FROM sys.conversation_endpoints AS ce
                       WITH (NOLOCK)    /* waits for nobody: the caller may hold G (F-126) */
                   INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                   WHERE ce.conversation_handle = @handle
                     AND ce.is_initiator = 1
                     AND s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'')
        THROW 50112, N''@handle must be the initiator''''s handle of a conversation of service ''''//redial/etl/initiator'''' that is still in sys.conversation_endpoints. Nothing was ended.'', 1;

    /* In a caller''s transaction too: with it OFF and no TRY around us a statement that fails is passed
       over, and END below would come all the same. */
    SET XACT_ABORT ON;

    IF @ownsTransaction = 1
        BEGIN TRANSACTION;

    SELECT @state = ce.state
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* as above */
    WHERE ce.conversation_handle = @handle;
    /* Ended by hand on this side. A read that may wait: not if whoever does that is not through with it. */
    IF @state = ''DO''
    BEGIN
        SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle;
        IF @state IN (''SO'', ''CO'')
            THROW 50112, N''@handle was being ended by somebody who then rolled back, so its conversation is open as before. Nothing was ended.'', 1;
    END;

    /* An open dialog can still be sent on: take G before anything is read, so that no copy is added
       below (F-109). On one that has ended or failed no SEND can succeed, and whether a refused timer
       dooms the RECEIVE around us is unknown (F-134): not asked. */
    IF @state IN (''SO'', ''CO'')
        EXECUTE [etl].[usp_ArmTimer] @handle = @handle, @seconds = 30;

    SELECT @conversationId = ce.conversation_id, @state = ce.state, @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own endpoint (F-126) */
    WHERE ce.conversation_handle = @handle;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  END, which takes G and so waits for whoever has sent on it and not committed yet          */
    /* ----------------------------------------------------------------------------------------- */
    /* An open dialog (an operator gives one up) would deliver what is still in sys.transmission_queue
       after a plain END, a second time; WITH ERROR drops it and tells the target (F-138). One that was ended by
       hand (DO) waits for its target''s answer, which may never come; another END would be refused (8427). */
    IF @state IN (''SO'', ''CO'')
    BEGIN
        END CONVERSATION @handle WITH ERROR = 50111
            DESCRIPTION = N''Given up by usp_ResendPending: what had not landed was sent again or dead-lettered.'';
    END
    ELSE IF @state <> ''DO''
    BEGIN
        END CONVERSATION @handle;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  What has not landed                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    EXECUTE @busy = [etl].[usp_MoveCopies]
        @conversationId = @conversationId, @handle = @handle, @code = @code, @description = @description,
        @allowResend = @allowResend, @waitMs = @waitMs, @resent = @resent OUTPUT, @deadLettered = @deadLettered OUTPUT;
    IF @busy <> 0
    BEGIN
        /* All of it: whether a savepoint takes END back is nowhere said (F-333). */
        IF @ownsTransaction = 0
            THROW 50113, N''A reader of the target is at work on the dialog of @handle. This transaction can only be rolled back. Next: call again, outside a transaction.'', 1;
        ROLLBACK TRANSACTION;
        RETURN 1;
    END;

    /* Its log row after END has taken G, the order of a reader that has received for it (F-127). */
    UPDATE cl
    SET EndedUtc = SYSUTCDATETIME(),
        Messages = ISNULL(cl.Messages, @sent),
        Resent = @resent,
        DeadLettered = @deadLettered,
        Code = @code,
        Reason = @description
    FROM [etl].[ConversationLog] AS cl
        WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog''s row only, under G */
    WHERE cl.Handle = @handle;

    DELETE pa
    FROM [etl].[PoisonAttempt] AS pa
        WITH (ROWLOCK, FORCESEEK)       /* a scan would wait for other dialogs'' rows, under G */
    WHERE pa.ConversationHandle IN (@handle, @conversationId);      /* usp_ResendStranded''s too */

    IF @ownsTransaction = 1
        COMMIT TRANSACTION;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_04_usp_EndInitiator.procedure.sql', 4, N'procedure', N'[etl].[usp_EndInitiator]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_EndInitiator]
    @handle uniqueidentifier,
    @messageType nvarchar(256),
    @sequence bigint,
    @body varbinary(max),
    @inside bit                         /* 0: only write down what the message said; end nothing in here */
AS
/* Redial 0.1.0, configuration etl */
/* The answer to EndDialog and Error, in the transaction of usp_SenderActivation that has received it: ends a
   dialog that has left nothing behind, under G, and waits for nobody. Returns 0; or 1, and what the message said
   is written down and the dialog stays, for usp_ResendLeft: to end the target''s side may mean to wait, and an
   error inside of a RECEIVE is a message rolled back. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @left int = 0;
    DECLARE @code int = 0;              /* of an Error message; 0 for EndDialog; NULL unreadable */
    DECLARE @description nvarchar(3000);
    DECLARE @copies int;                /* that have not landed; counted to one above the limit */

    IF @messageType = N''http://schemas.microsoft.com/SQL/ServiceBroker/Error''
        EXECUTE [etl].[usp_ReadErrorBody] @messageBody = @body,
            @code = @code OUTPUT, @description = @description OUTPUT;

    SELECT @copies = COUNT(*)
    FROM (SELECT TOP (100001) sm.MessageSequence
          FROM sys.conversation_endpoints AS ce
              WITH (NOLOCK)             /* our own endpoint, under G (F-126) */
          INNER JOIN [etl].[SentMessage] AS sm
              WITH (NOLOCK, FORCESEEK)  /* a size, no decision on a row */
              ON sm.ConversationId = ce.conversation_id
          WHERE ce.conversation_handle = @handle) AS p;

    IF @inside = 0 OR @copies > 0 OR ISNULL(@code, -1) < 0
    BEGIN
        UPDATE cl
        SET Code = @code,
            Reason = @description
        FROM [etl].[ConversationLog] AS cl
            WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog''s row only, under G */
        WHERE cl.Handle = @handle;
        SET @left = @@ROWCOUNT;
    END;

    /* No row: not ours, and refused here, inside of the RECEIVE: so that its message is kept. */
    IF @left = 0
        EXECUTE [etl].[usp_ResendPending] @handle = @handle, @code = @code, @description = @description;

    /* All of a dialog goes in one transaction: a very large one fills the log and rolls back for hours. So
       that is left to somebody who has looked at the log first. */
    IF @copies > 100000
    BEGIN
        SET @description = CONCAT(N''Not ended: more than 100000 messages have not landed. Nothing is lost. Next: see that there is room in the log for three times their bytes; then EXECUTE [etl].[usp_ResendPending] @handle = '''''',
            @handle, N'''''', @code = '', ISNULL(CONVERT(nvarchar(12), @code), N''NULL''), N''; '', @description);
        EXECUTE [etl].[usp_LogError] @procedureName = N''usp_SenderActivation'',
            @handle = @handle, @sequence = @sequence, @message = @description;
    END
    ELSE IF @left = 1
    BEGIN
        /* The mark: 0 attempts blame nothing. It goes with the dialog, in one transaction. */
        INSERT INTO [etl].[PoisonAttempt] (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc)
        SELECT @handle, -4, N''usp_ResendLeft'', 0, SYSUTCDATETIME()
        WHERE NOT EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (FORCESEEK)   /* one row, under G */
                          WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -4 AND pa.MessageType = N''usp_ResendLeft'');
    END;

    RETURN @left;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_04_usp_ResendLeft.procedure.sql', 4, N'procedure', N'[etl].[usp_ResendLeft]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ResendLeft]
AS
/* Redial 0.1.0, configuration etl */
/* What usp_EndInitiator has left, dialog by dialog: usp_ResendPending, with nothing around it that a failure
   would roll back. By their marks: what a killed reader has left is the next one''s. A lock that does not come
   (a reader of the target is at work, a sender has just found the dialog dead), or the server''s set-up, blames nothing, and the
   mark stays. Any other error is counted, a reader''s 30 seconds apart; after five the copies go to DeadLetter. Returns 0, or 1:
   marks have stayed. Raises the server''s own trouble. */
BEGIN
    SET NOCOUNT ON;
    SET LOCK_TIMEOUT 10000;             /* other dialogs are waiting for us */

    DECLARE @handle uniqueidentifier;
    DECLARE @last uniqueidentifier = ''00000000-0000-0000-0000-000000000000'';
    DECLARE @code int;
    DECLARE @description nvarchar(3000);
    DECLARE @allowResend bit;
    DECLARE @counted bit;               /* 1: it has failed a moment ago */
    DECLARE @busy int;
    DECLARE @attempts int;
    DECLARE @stays int = 0;

    IF @@TRANCOUNT <> 0
        THROW 50127, N''usp_ResendLeft must be called outside a transaction: it may wait, and nothing may be held meanwhile.'', 1;

    WHILE 1 = 1
    BEGIN
        SET @handle = NULL;
        SELECT TOP (1) @handle = pa.ConversationHandle, @code = cl.Code, @description = cl.Reason,
            @allowResend = CASE WHEN pa.Attempts < 5 THEN 1 ELSE 0 END,
            @counted = CASE WHEN pa.ErrorNumber IS NOT NULL AND pa.LastUtc > DATEADD(second, -30, SYSUTCDATETIME()) THEN 1 ELSE 0 END
        FROM [etl].[PoisonAttempt] AS pa
            /* READPAST: a mark that is just being written is its reader''s; nobody is waited for. */
            WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)
        INNER JOIN [etl].[ConversationLog] AS cl
            WITH (NOLOCK, FORCESEEK)    /* written before the mark was */
            ON cl.Handle = pa.ConversationHandle
        WHERE pa.ConversationHandle > @last AND pa.MessageSequence = -4 AND pa.MessageType = N''usp_ResendLeft''
        ORDER BY pa.ConversationHandle;
        IF @handle IS NULL
            RETURN @stays;
        SET @last = @handle;

        BEGIN TRY
            EXECUTE @busy = [etl].[usp_ResendPending] @handle = @handle, @code = @code, @description = @description,
                @allowResend = @allowResend, @waitMs = 100;
            SET @stays = @stays | @busy;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906))
                THROW;
            SET @stays = 1;

            /* 50112, 8426: somebody else is ending it. He may roll back, and whether a read waits for that is
               nowhere said (F-126): so the mark stays for a while. */
            IF ERROR_NUMBER() IN (50112, 8426)
                DELETE pa
                FROM [etl].[PoisonAttempt] AS pa
                    WITH (ROWLOCK, FORCESEEK)       /* a scan would wait for other dialogs'' rows */
                WHERE pa.ConversationHandle = @handle
                  AND pa.LastUtc < DATEADD(minute, -10, SYSUTCDATETIME());
            ELSE IF @counted = 0 AND ERROR_NUMBER() NOT IN (1205, 1222)
            BEGIN
                SET @attempts = CASE WHEN ERROR_NUMBER() = 8427 OR ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009) THEN 0 ELSE 1 END;
                EXECUTE [etl].[usp_LogError] @procedureName = N''usp_ResendLeft'', @handle = @handle;
                EXECUTE [etl].[usp_RecordPoison] @handle = @handle, @sequence = -4,
                    @messageType = N''usp_ResendLeft'', @attempts = @attempts;
            END;
        END CATCH;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_04_usp_ResendStranded.procedure.sql', 4, N'procedure', N'[etl].[usp_ResendStranded]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ResendStranded]
    @olderThanSeconds int = 30,         /* 0 and up: younger copies are left alone */
    @most int = 100000,                 /* 1 and up: a dialog with more copies is left alone */
    @endsToo bit = 1,                   /* 1: also end dialogs that have failed and have no copies left */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Goes through the dialogs that have copies (SentMessage), one seek each, and ends and accounts for those
   that cannot deliver them any more: the initiator''s side is gone, or has ended or failed and the message
   that said so was not handled to the end. First the list, then each in a transaction of its own. An error is logged
   and the next dialog follows; after five errors of one dialog its copies go to DeadLetter instead. Returns 0. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut what is accounted for (F-331) */
    IF @@LOCK_TIMEOUT NOT BETWEEN 0 AND 10000
        SET LOCK_TIMEOUT 10000;         /* no dialog is waited for for ever, while others are stranded */

    DECLARE @conversationId uniqueidentifier = ''00000000-0000-0000-0000-000000000000'';
    DECLARE @sentUtc datetime2(3);
    DECLARE @handle uniqueidentifier;
    DECLARE @state char(2);
    DECLARE @code int;
    DECLARE @description nvarchar(3000);
    DECLARE @resend bit;
    DECLARE @counted bit;               /* 1: it has failed a moment ago */
    DECLARE @busy int;
    DECLARE @found int;                 /* 1, then the number of a dialog in the list */
    DECLARE @copies bigint;
    DECLARE @tooLarge int = 0;
    DECLARE @target uniqueidentifier;
    DECLARE @stranded TABLE (RowId int IDENTITY, ConversationId uniqueidentifier NOT NULL, Handle uniqueidentifier NULL, State char(2) NULL,
        Code int NULL, Reason nvarchar(3000) NULL, Target uniqueidentifier NULL, PRIMARY KEY (ConversationId, RowId));

    /* -- 1  Help and inputs -- */
    IF @Help = 1
    BEGIN
        PRINT N''usp_ResendStranded sends again what a dialog of configuration etl has left behind that was ended by
hand (END CONVERSATION by somebody else, WITH CLEANUP, NEW_BROKER): nobody is told of such an end.
  @olderThanSeconds  0 and up, 30 by default: younger copies are left alone
  @most              1 and up, 100000 by default: a dialog with more is left to a call that allows for more
  @endsToo           1 (default): also end dialogs that have failed and have nothing left to send; one look at all endpoints
Activation of the initiator''''s queue and usp_Drain call it too. Look first: [etl].[vw_Unlanded].
Example: EXECUTE [etl].[usp_ResendStranded] @olderThanSeconds = 0;'';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50123, N''usp_ResendStranded must be called outside a transaction: each dialog is accounted for in one of its own.'', 1;
    IF ISNULL(@olderThanSeconds, -1) < 0 OR ISNULL(@most, 0) < 1 OR @endsToo IS NULL
        THROW 50126, N''@olderThanSeconds must be 0 or more. @most must be 1 or more. @endsToo must be 0 or 1.'', 1;

    WHILE 1 = 1
    BEGIN
        /* -- 2  The next dialog with copies, by its oldest -- */
        SET @found = 0;
        SELECT TOP (1) @found = 1, @conversationId = sm.ConversationId, @sentUtc = sm.SentUtc
        FROM [etl].[SentMessage] AS sm
            /* READPAST: what an open transaction has just sent is no stranded copy, and its dialog, begun
               in that transaction, may not be seen below (F-126). So no sender is waited for. */
            WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)
        WHERE sm.ConversationId > @conversationId
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @found = 0
            BREAK;

        IF @sentUtc > DATEADD(second, -@olderThanSeconds, SYSUTCDATETIME())
            CONTINUE;

        SELECT @handle = NULL, @state = NULL, @code = 0, @description = NULL;
        SELECT @handle = cl.Handle, @code = ISNULL(cl.Code, 0), @description = cl.Reason
        FROM [etl].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written when it was begun; waits for nobody */
        WHERE cl.ConversationId = @conversationId;
        IF @handle IS NULL                      /* its row was deleted by hand */
            SELECT @handle = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* a handle never changes */
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        SELECT @state = ce.state
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* what is done below looks again under locks */
        WHERE ce.conversation_handle = @handle;

        /* An open dialog delivers, or tells its end. */
        IF @state IN (''SO'', ''CO'')
            CONTINUE;

        /* All of a dialog goes in one transaction: a very large one wants somebody who has looked at the log first. */
        SELECT @copies = COUNT_BIG(*)
        FROM (SELECT TOP (@most + CONVERT(bigint, 1)) sm.MessageSequence FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
              WHERE sm.ConversationId = @conversationId) AS p;      /* a size, no decision on a row */
        IF @copies > @most
            SET @tooLarge += 1;
        ELSE
            INSERT INTO @stranded (ConversationId, Handle, State, Code, Reason)
            VALUES (@conversationId, @handle, @state, @code, @description);
    END;

    /* All has landed, but its end is still to come: a reader of the target was at work on it when activation
       came, which has written down what the message said. */
    IF @endsToo = 1
        INSERT INTO @stranded (ConversationId, Handle, State, Code, Reason)
        SELECT ce.conversation_id, ce.conversation_handle, ce.state, cl.Code, cl.Reason
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* as above */
        INNER JOIN [etl].[ConversationLog] AS cl
            WITH (NOLOCK, FORCESEEK)    /* as above */
            ON cl.Handle = ce.conversation_handle
        WHERE ce.is_initiator = 1
          AND ce.state IN (''DI'', ''ER'')
          AND cl.EndedUtc IS NULL
          AND (cl.Code IS NOT NULL OR cl.Reason IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                          WHERE sm.ConversationId = ce.conversation_id);

    /* The targets of those that are gone: one look at all endpoints (F-153). No more can come: what is gone
       delivers nothing. */
    IF EXISTS (SELECT 1 FROM @stranded AS s WHERE s.State IS NULL)
        UPDATE s
        SET Target = ce.conversation_handle
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* as above */
        INNER JOIN @stranded AS s ON s.ConversationId = ce.conversation_id AND s.State IS NULL
        WHERE ce.is_initiator = 0
        OPTION (FORCE ORDER);           /* one pass: the table variable is sought */

    WHILE 1 = 1
    BEGIN
        SET @found = 0;
        SELECT TOP (1) @found = s.RowId, @conversationId = s.ConversationId, @handle = s.Handle, @state = s.State,
            @code = s.Code, @description = s.Reason, @target = s.Target,
            @resend = CASE WHEN pa.Attempts >= 5 THEN 0 ELSE 1 END,
            @counted = CASE WHEN pa.LastUtc > DATEADD(second, -30, SYSUTCDATETIME()) THEN 1 ELSE 0 END
        FROM @stranded AS s
        LEFT OUTER JOIN [etl].[PoisonAttempt] AS pa WITH (NOLOCK, FORCESEEK)  /* written by this procedure, below */
            ON pa.ConversationHandle = s.ConversationId
        ORDER BY s.ConversationId, s.RowId;
        IF @found = 0
            BREAK;
        DELETE FROM @stranded WHERE ConversationId = @conversationId AND RowId = @found;

        BEGIN TRY
            /* -- 3  Ended or failed, and left: as activation would have done -- */
            IF @state IS NOT NULL
            BEGIN
                EXECUTE [etl].[usp_ResendPending] @handle = @handle, @code = @code,
                    @description = @description, @allowResend = @resend;
                /* Its Error may be unread, and goes with it: nobody else drops the row then. */
                EXECUTE [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
            END
            /* -- 4  Gone: its copies are nobody''s. Whoever ended it has waited for its senders (F-109) -- */
            ELSE
            BEGIN
                SELECT @busy = 0, @description = ISNULL(@description, N''Its dialog was ended by hand.'');
                BEGIN TRANSACTION;
                /* Not by NOLOCK: one that is just being ended may yet be there again. */
                IF NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle)
                    EXECUTE @busy = [etl].[usp_MoveCopies] @conversationId = @conversationId, @handle = @conversationId,
                        @code = @code, @description = @description, @allowResend = @resend, @waitMs = 10000, @target = @target;
                IF @busy = 0
                    COMMIT TRANSACTION;
                ELSE
                    ROLLBACK TRANSACTION;
            END;

            /* Its errors are forgotten with its copies; a reader that was at work on it leaves both. */
            DELETE pa
            FROM [etl].[PoisonAttempt] AS pa
                WITH (ROWLOCK, FORCESEEK)       /* written by this procedure, below */
            WHERE pa.ConversationHandle = @conversationId
              AND NOT EXISTS (SELECT 1 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                              WHERE sm.ConversationId = @conversationId);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 50112, 8426: somebody else has just done it. */
            IF ERROR_NUMBER() NOT IN (50112, 8426)
                EXECUTE [etl].[usp_LogError] @procedureName = N''usp_ResendStranded'', @handle = @handle;

            /* A message type that is gone, say: nothing will mend that. Not counted: a deadlock, a lock
               that was waited for in vain, and the server''s trouble (disk, memory); nor the next error
               within 30 seconds, for a drain asks again and again. */
            IF @counted = 0 AND NOT (ERROR_NUMBER() IN (50112, 8426) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
                EXECUTE [etl].[usp_RecordPoison] @handle = @conversationId, @sequence = -1,
                    @messageType = N''usp_ResendStranded'';
        END CATCH;
    END;

    /* Not by activation (@endsToo = 0): each PRINT there is a line in the server''s log. */
    IF @tooLarge > 0 AND @endsToo = 1
        PRINT CONCAT(N''usp_ResendStranded left '', @tooLarge, N'' dialogs alone: each has more than '', @most,
            N'' copies, and all of a dialog goes in one transaction. Look at vw_Unlanded and the room in the log, then call again with a larger @most.'');

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'74_05_usp_SenderActivation.procedure.sql', 4, N'procedure', N'[etl].[usp_SenderActivation]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_SenderActivation]
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Empties the initiator''s queue: EndDialog and Error end it. One message per
   transaction, and that transaction owns the conversation group only; the row R is the business of a
   second transaction, after the first has committed (F-127). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* what a refused timer or a failed resend does is decided below */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @handle uniqueidentifier;
    DECLARE @messageType nvarchar(256);
    DECLARE @sequence bigint;
    DECLARE @body varbinary(max);
    DECLARE @attempts int;              /* how often this message rolled its transaction back */
    DECLARE @poisoned bit;
    DECLARE @inside bit = 1;            /* 0: we have met a lock, and end no dialog inside of a RECEIVE any more */
    DECLARE @left int;                  /* 1: the dialog was not ended in transaction 1 */
    DECLARE @stays int = 0;             /* 1: one that was not is still there */
    DECLARE @rung bit = 0;              /* 1: a timer was received */
    DECLARE @phase tinyint = 0;         /* 0 receiving, 1 received, 2 transaction 1 committed */
    DECLARE @rollbacks int = 0;         /* how many receives in a row were rolled back */
    DECLARE @queueId int = OBJECT_ID(N''[etl].[InitiatorQueue]'');
    /* Then it leaves and is started again: nothing in it can grow for ever. */
    DECLARE @until datetime2(3) = DATEADD(minute, 10, SYSUTCDATETIME());

    WHILE @rollbacks > 0 OR @stays = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        IF @phase = 2
            SET @rollbacks = 0;
        SET @handle = NULL;             /* RECEIVE leaves variables alone when there is no row (F-119) */
        SET @phase = 0;

        BEGIN TRY
            /* -- 1  Transaction 1: receive. From here on G is ours -- */
            BEGIN TRANSACTION;

            RECEIVE TOP (1)
                @handle = conversation_handle,
                @messageType = message_type_name,
                @sequence = message_sequence_number,
                @body = message_body
            FROM [etl].[InitiatorQueue];

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                SELECT @phase = 2, @stays = 0;
                /* What is left, by a reader that was killed too. It stays until all is done: nobody else may
                   come. NOLOCK: it looks again. */
                IF EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -4)
                    EXECUTE @stays = [etl].[usp_ResendLeft];

                /* A timer also stands for what nobody is told of: dialogs that were ended by hand. */
                IF @rung = 1
                BEGIN
                    SET @rung = 0;
                    EXECUTE [etl].[usp_ResendStranded] @endsToo = 0;
                END;
                IF @stays = 0
                    RETURN 0;
                WAITFOR DELAY ''00:00:05'';
                CONTINUE;
            END;

            SET @phase = 1;
            SET @sequence = ISNULL(@sequence, -1);   /* of a timer or broker error: not documented */
            SET @messageType = ISNULL(@messageType, N'''');   /* the type may be dropped by now (F-142) */

            SET @attempts = 0;
            SELECT @attempts = pa.Attempts
            FROM [etl].[PoisonAttempt] AS pa
                WITH (FORCESEEK)        /* a scan would wait for other dialogs'' rows, under G */
            WHERE pa.ConversationHandle = @handle
              AND pa.MessageSequence = @sequence
              AND pa.MessageType = @messageType;
            SET @poisoned = CASE WHEN @attempts >= 1 THEN 1 ELSE 0 END;

            /* -- 2  Timer: for a dialog that was gone (usp_BeginConversation), or only to take G -- */
            IF @messageType = N''http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer''
            BEGIN
                SET @rung = 1;
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* -- 3  Ending failed even without a resend: set aside, below the five rollbacks (F-118) -- */
            ELSE IF @attempts >= 2
            BEGIN
                INSERT INTO [etl].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N''initiator'', @handle, @sequence, @messageType, @body,
                     N''Not ended, see ErrorLog for this handle. Next: usp_ResendPending with it.'');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* -- 4  EndDialog, Error: end under G where all has landed. What has not is accounted for in a
                     transaction of its own, since that may wait for others -- */
            ELSE IF @messageType IN (N''http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'',
                                     N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'')
            BEGIN
                EXECUTE @left = [etl].[usp_EndInitiator] @handle, @messageType, @sequence, @body, @inside;
                COMMIT TRANSACTION;
                SET @phase = 2;

                EXECUTE [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
                IF @left <> 0
                    EXECUTE @stays = [etl].[usp_ResendLeft];
            END
            /* -- 5  Nothing else is in the contract for this side: kept, not dropped -- */
            ELSE
            BEGIN
                INSERT INTO [etl].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N''initiator'', @handle, @sequence, @messageType, @body,
                     N''Unexpected message type on the initiator''''s queue.'');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 9617, the queue is off, is somebody''s decision and not news. */
            IF ERROR_NUMBER() <> 9617
                EXECUTE [etl].[usp_LogError] @procedureName = N''usp_SenderActivation'',
                    @handle = @handle, @sequence = @sequence;

            /* The server''s trouble (disk, memory) or a lock, not the message''s: wait until it is over, holding
               nothing. Any other error of RECEIVE itself: leave, a loop would spin (F-118). */
            SET @left = CASE @phase WHEN 0 THEN 1 ELSE 0 END;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                EXECUTE @left = [etl].[usp_WaitForServer] @handle, @queueId;
            IF @left <> 0
                RETURN 1;
            IF @phase = 0
            BEGIN
                SET @until = DATEADD(minute, 10, SYSUTCDATETIME());
                CONTINUE;
            END;

            SET @stays = 1;             /* what may be left is looked for before it leaves */

            /* A deadlock, a lock that was waited for in vain, a dialog that somebody ended meanwhile: not
               the message''s fault either, unless it goes on, for five rollbacks switch the queue off. */
            IF @phase = 1
                SELECT @rollbacks = @rollbacks + 1,
                    @inside = CASE WHEN ERROR_NUMBER() IN (1205, 1222) THEN 0 ELSE @inside END;
            SET @attempts = CASE WHEN NOT (ERROR_NUMBER() IN (8426, 8427) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))) THEN 1
                                 WHEN @rollbacks > 2 THEN 2 ELSE 0 END;
            IF @phase = 1 AND @attempts > 0
                EXECUTE [etl].[usp_RecordPoison] @handle = @handle, @sequence = @sequence,
                    @messageType = @messageType, @attempts = @attempts;
        END CATCH;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'76_pool_slots.data.sql', 4, NULL, NULL,
N'/* The pool''s slots are rows that exist from deployment on. Every deployment adds what is missing and
   takes away what is beyond the pool''s size; a slot that is busy now is left for the next deployment.
   Nobody sends on one beyond the size. */
DECLARE @number int = 1;
DECLARE @slot nvarchar(200);
DECLARE @handle uniqueidentifier;
DECLARE @result int;
DECLARE @id int = 0;
DECLARE @extra TABLE (ExtraId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Slot nvarchar(200) NOT NULL, Handle uniqueidentifier NOT NULL);

WHILE @number <= 16
BEGIN
    SET @slot = RIGHT(CONCAT(N''000'', CONVERT(nvarchar(5), @number)), 4);

    IF NOT EXISTS (SELECT 1
                   FROM [etl].[SessionConversations] AS sc
                       /* NOLOCK: a slot in use is there all the same, and only deployments add slots */
                       WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
                   WHERE sc.ConfigId = 1 AND sc.ConversationKey = @slot)
    BEGIN
        INSERT INTO [etl].[SessionConversations] (ConfigId, ConversationKey, Handle)
        VALUES (1, @slot, NEWID());
    END;

    SET @number = @number + 1;
END;

/* No cursor: each round commits, and CURSOR_CLOSE_ON_COMMIT may be on (F-372). */
INSERT INTO @extra (Slot, Handle)
SELECT sc.ConversationKey, sc.Handle
FROM [etl].[SessionConversations] AS sc
    /* NOLOCK: busy ones are asked below, without waiting */
    WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
WHERE sc.ConfigId = 1 AND sc.ConversationKey > N''0016'';

WHILE EXISTS (SELECT 1 FROM @extra AS e WHERE e.ExtraId > @id)
BEGIN
    SELECT TOP (1) @id = e.ExtraId, @slot = e.Slot, @handle = e.Handle FROM @extra AS e WHERE e.ExtraId > @id ORDER BY e.ExtraId;

    /* EndOfStream, and the slot is empty; 1: busy, 2: logged, 3: somebody has emptied it meanwhile. */
    EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;

    IF @result IN (0, 3)
    BEGIN
        DELETE sc
        FROM [etl].[SessionConversations] AS sc
            WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @slot
          AND sc.Handle <> @handle      /* emptied, */
          AND sc.BegunUtc IS NULL;      /* and nobody has begun another dialog in it since */
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_01_usp_LandRow.procedure.sql', 4, N'procedure', N'[etl].[usp_LandRow]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_LandRow]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @body varbinary(max)                /* as it came out of the queue */
AS
/* Redial 0.1.0, configuration etl */
/* Lands one row: for the row-by-row pass and the search for a poison row.
   Runs inside its caller''s transaction; raises when the row cannot be processed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* the caller undoes one row to its savepoint */

    INSERT INTO [etl].[Landing]
        (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
         ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
    SELECT @conversationId, @handle, @sequence, @messageType, e.Body,
        e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
    FROM [etl].[ufn_ReadEnvelope](@body) AS e;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_02_usp_LandBatch.procedure.sql', 4, N'procedure', N'[etl].[usp_LandBatch]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_LandBatch]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the target''s; the caller has a transaction, and owns its group unless it rehearses */
    @rows [etl].[ReceivedBatch] READONLY,
    @rehearse bit = 0                   /* 1: nothing was received, and the caller undoes all of it */
AS
/* Redial 0.1.0, configuration etl */
/* Accounts for every row of one RECEIVE, inside its transaction: landed, dropped as a repeat, or
   dead-lettered. Raises when the transaction is doomed or nothing can be written; its caller then
   rolls back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone to a savepoint, not doomed */

    DECLARE @done TABLE (RowId int NOT NULL PRIMARY KEY);   /* accounted for before landing */
    DECLARE @marks TABLE (RowId int NOT NULL PRIMARY KEY, Attempts int NOT NULL, ErrorNumber int NULL, ErrorMessage nvarchar(3000) NULL);
    DECLARE @ids TABLE (Position int IDENTITY (1, 1) NOT NULL PRIMARY KEY, RowId int NOT NULL, MessageId uniqueidentifier NOT NULL);
    DECLARE @position int = 0;
    DECLARE @messageId uniqueidentifier;
    DECLARE @row int;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);

    IF @@TRANCOUNT = 0
        THROW 50212, N''usp_LandBatch must be called inside the transaction that received the rows.'', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Rows known to be poison: dead-lettered unprocessed                                       */
    /* ----------------------------------------------------------------------------------------- */
    /* Undone below: a trigger may commit what was not received, and an id that stays makes its message a repeat. */
    IF @rehearse = 1
        SAVE TRANSACTION RedialRehearsal;

    /* The marks go with their rows, whatever becomes of those in this transaction. */
    DELETE pa
    OUTPUT r.RowId, DELETED.Attempts, DELETED.ErrorNumber, DELETED.ErrorMessage
    INTO @marks (RowId, Attempts, ErrorNumber, ErrorMessage)
    FROM @rows AS r
    INNER JOIN [etl].[PoisonAttempt] AS pa
            WITH (ROWLOCK, FORCESEEK)   /* a scan would wait for other dialogs'' rows, under G */
        ON pa.ConversationHandle = @handle AND pa.MessageSequence = r.MessageSequence
        AND pa.MessageType = r.MessageType;

    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @done (RowId)
        SELECT m.RowId FROM @marks AS m WHERE m.Attempts >= 1;

        INSERT INTO [etl].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N''target'', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body,
            m.ErrorNumber, m.ErrorMessage
        FROM @rows AS r
        INNER JOIN @marks AS m ON m.RowId = r.RowId
        INNER JOIN @done AS d ON d.RowId = r.RowId
        ORDER BY r.RowId;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Repeats: an id that has landed before is counted and dropped. One id after the other and   */
    /*    in the order of the ids: readers with ids in common wait for each other and never in a     */
    /*    circle (F-165)                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @ids (RowId, MessageId)
    SELECT r.RowId, e.MessageId
    FROM @rows AS r
    CROSS APPLY [etl].[ufn_ReadEnvelope](r.Body) AS e
    WHERE e.MessageId IS NOT NULL
      AND r.MessageType NOT IN (N''EndOfStream'',
          N''http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'',
          N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'')
      AND NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
    ORDER BY e.MessageId, r.RowId;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @position = i.Position, @row = i.RowId, @messageId = i.MessageId
        FROM @ids AS i
        WHERE i.Position > @position
        ORDER BY i.Position;
        IF @@ROWCOUNT = 0
            BREAK;

        /* First the UPDATE: it waits for another reader''s row of this id and then sees it. */
        UPDATE ib
        SET Repeats = ib.Repeats + 1
        FROM [etl].[Inbox] AS ib
            WITH (ROWLOCK, FORCESEEK)   /* this key; a scan would wait for every reader''s */
        WHERE ib.MessageId = @messageId;

        IF @@ROWCOUNT > 0
            INSERT INTO @done (RowId) VALUES (@row);
        ELSE
        BEGIN
            BEGIN TRY
                INSERT INTO [etl].[Inbox] (MessageId) VALUES (@messageId);
            END TRY
            BEGIN CATCH
                /* Another reader was in between: a repeat too. It is not counted, for an UPDATE now
                   could deadlock with a third reader that is here as well (F-165). */
                IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1
                    THROW;
                INSERT INTO @done (RowId) VALUES (@row);
            END CATCH;
        END;
    END;

    IF @rehearse = 1
        ROLLBACK TRANSACTION RedialRehearsal;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Land the batch as one                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    BEGIN TRY
        INSERT INTO [etl].[Landing]
            (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
             ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
        SELECT @conversationId, @handle, r.MessageSequence, r.MessageType, e.Body,
            e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
        FROM @rows AS r
        CROSS APPLY [etl].[ufn_ReadEnvelope](r.Body) AS e
        WHERE NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;
        RETURN 0;
    END TRY
    BEGIN CATCH
        /* Doomed: usp_FindPoison finds the row after the rollback. The server''s trouble (disk,
           memory, its set-up) and a lock that did not come blame no row. */
        IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
            THROW;
    END CATCH;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  It cannot land as one: row by row, each under a savepoint                                */
    /* ----------------------------------------------------------------------------------------- */
    SET @row = 0;
    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType,
            @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row
          AND NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SAVE TRANSACTION RedialBeforeRow;   /* a hook''s own savepoints have other names */
        BEGIN TRY
            EXECUTE [etl].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
        END TRY
        BEGIN CATCH
            /* Doomed, or the server''s own trouble. */
            IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
                THROW;
            ROLLBACK TRANSACTION RedialBeforeRow;
            INSERT INTO [etl].[DeadLetter]
                (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
            VALUES (N''target'', @conversationId, @handle, @sequence, @messageType, @body,
                ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
            /* It has not landed: a replay of the dead letter is no repeat. */
            SET @messageId = NULL;
            SELECT @messageId = i.MessageId FROM @ids AS i WHERE i.RowId = @row;
            IF @rehearse = 0
                DELETE ib
                FROM [etl].[Inbox] AS ib
                    WITH (ROWLOCK, FORCESEEK)   /* a key this transaction has locked already */
                WHERE ib.MessageId = @messageId;
        END CATCH;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_03_usp_EndTarget.procedure.sql', 4, N'procedure', N'[etl].[usp_EndTarget]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_EndTarget]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @state char(2),                     /* of the endpoint; NULL: it is gone */
    @errorBody varbinary(max),          /* of an Error message; NULL: there was none */
    @spared uniqueidentifier,           /* the conversation whose END has failed before, if any */
    @ended bit OUTPUT                   /* 1: all was sent, or the sender''s side has ended */
AS
/* Redial 0.1.0, configuration etl */
/* Ends the target''s side of a dialog where it is over; called by usp_TargetActivation in the transaction
   that has received and landed all of it. End first: the answer to EndOfStream is END, and EndDialog
   tells the initiator. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @code int = NULL;
    DECLARE @description nvarchar(3000);
    DECLARE @initiator uniqueidentifier = NULL;

    IF @errorBody IS NOT NULL
        EXECUTE [etl].[usp_ReadErrorBody] @messageBody = @errorBody,
            @code = @code OUTPUT, @description = @description OUTPUT;
    IF @code > 0                        /* somebody has ended the sender''s side */
        SET @ended = 1;

    /* An error of the broker''s own (a negative code: the lifetime is over, say) is told to both
       sides, and a sender may still have a message on the way in an open transaction. So it is
       the sender''s side that ends both, when its senders are done (F-462); unless it is gone. */
    IF @ended = 0
    BEGIN
        SELECT @initiator = cl.Handle
        FROM [etl].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written when it was begun; waits for nobody */
        WHERE cl.ConversationId = @conversationId;
        IF @initiator IS NULL                      /* its row was deleted by hand */
            SELECT @initiator = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* a handle never changes */
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        IF NOT EXISTS (SELECT 1
                       FROM sys.conversation_endpoints AS ce
                           WITH (NOLOCK)    /* waits for no sender (F-126) */
                       WHERE ce.conversation_handle = @initiator)
            SET @ended = 1;
    END;

    /* One that is CLOSED or gone has been ended by somebody else: nothing is left to end (8426). */
    IF @ended = 0 OR ISNULL(@state, ''CD'') = ''CD''
        RETURN 0;

    IF @handle = @spared
    BEGIN
        EXECUTE [etl].[usp_LogError] @procedureName = N''usp_EndTarget'', @handle = @handle,
            @message = N''All has landed; the conversation is left as it is, for its END has failed twice: see the errors before. Next: usp_EndLeaked.'';
        RETURN 0;
    END;

    DELETE pa
    FROM [etl].[PoisonAttempt] AS pa
        WITH (ROWLOCK, FORCESEEK)       /* a scan would wait for other dialogs'' rows, under G */
    WHERE pa.ConversationHandle = @handle;
    END CONVERSATION @handle;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_03_usp_FindPoison.procedure.sql', 4, N'procedure', N'[etl].[usp_FindPoison]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_FindPoison]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [etl].[ReceivedBatch] READONLY,   /* table variables survive the rollback */
    @lockErrors int = 0                 /* unused; a reader not yet replaced passes it: deployed beside readers */
AS
/* Redial 0.1.0, configuration etl */
/* Called from the CATCH block of usp_TargetActivation after the one rollback of a doomed batch: each
   row is tried alone and always undone, with no RECEIVE around it; what fails is recorded, and whoever
   receives it next dead-letters it. None fails: the next RECEIVE simply lands them. A batch of one is
   to blame itself: what failed may not fail again when it is tried alone.
   Returns 0; 1 the queue was switched off while the server was in trouble; 2 this conversation
   waits for the server''s set-up, and what to receive next is chosen by looking (usp_PickConversation). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @left int;
    DECLARE @queueId int = OBJECT_ID(N''[etl].[TargetQueue]'');
    DECLARE @row int = 0;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @tried int = 0;
    DECLARE @failed int = 0;
    DECLARE @waits bit = 0;             /* 1: the first row meets the server''s set-up */

    IF @conversationId IS NULL AND NOT EXISTS (SELECT 1 FROM @rows) AND (ERROR_NUMBER() = 8426 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
    BEGIN                               /* RECEIVE itself failed; 8426: what was chosen is gone (F-266) */
        EXECUTE @left = [etl].[usp_WaitForServer] NULL, @queueId;
        RETURN @left;
    END;

    IF ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009) AND EXISTS (SELECT 1 FROM @rows)
    BEGIN
        EXECUTE [etl].[usp_RecordPoison] @handle, -3, N''waits'', 0;
        RETURN 2;
    END;

    /* The server''s own trouble (severity 17 and up, if nobody raised it by hand), or a lock: no
       row is to blame. */
    IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
    BEGIN
        EXECUTE @left = [etl].[usp_RehearseLanding] @conversationId, @handle, @rows;
        RETURN @left;
    END;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType,
            @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SET @tried = @tried + 1;
        BEGIN TRY
            BEGIN TRANSACTION;
            EXECUTE [etl].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
            ROLLBACK TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* Nor does the server''s own trouble say anything against a row. */
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
            BEGIN
                EXECUTE [etl].[usp_RecordPoison] @handle, @sequence, @messageType;
                SET @failed = @failed + 1;
            END
            ELSE IF @tried = 1 AND ERROR_NUMBER() IN (208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009)
            BEGIN                       /* the next RECEIVE would be rolled back for it */
                EXECUTE [etl].[usp_RecordPoison] @handle, -3, N''waits'', 0;
                SET @waits = 1;
            END;
        END CATCH;
    END;

    IF @tried = 1 AND @failed = 0 AND @waits = 0
        EXECUTE [etl].[usp_RecordPoison] @handle, @sequence, @messageType;

    RETURN CASE @waits WHEN 1 THEN 2 ELSE 0 END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_03_usp_PickConversation.procedure.sql', 4, N'procedure', N'[etl].[usp_PickConversation]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PickConversation]
    @several uniqueidentifier OUTPUT,   /* a batch of this conversation would land */
    @single uniqueidentifier OUTPUT,    /* of this one the first message would */
    @last uniqueidentifier = NULL OUTPUT    /* the one that was chosen last: its turn comes last */
AS
/* Redial 0.1.0, configuration etl */
/* Chooses what to receive while a conversation waits for somebody to mend the server''s set-up: RECEIVE would take
   that one again and again, and five rollbacks switch the queue off. Holds nothing. One is chosen by looking, its
   landing tried and always undone; what fails for the server''s sake waits (PoisonAttempt, number -3) and is tried
   again every 15 seconds. What stands before the message that cannot land is received one by one.
   Returns 1 with one of both, or 0: none waits any more. Raises 50214 when the queue is switched off. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @waits bit = 0;             /* 1: it has waited already */
    DECLARE @size int;                  /* how many of its messages are tried; 0: not even the first would land */
    DECLARE @rows [etl].[ReceivedBatch];

    SELECT @several = NULL, @single = NULL;
    WHILE ISNULL(@several, @single) IS NULL
    BEGIN
        IF NOT EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -3)
            RETURN 0;
        IF NOT EXISTS (SELECT 1
                       FROM sys.service_queues AS q
                       WHERE q.object_id = OBJECT_ID(N''[etl].[TargetQueue]'')
                         AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            THROW 50214, N''[etl].[TargetQueue] is switched off. Next: switch it on with its activation; what waits is looked at then.'', 1;

        /* 1  One that has waited long enough, for one reader, unless it has just tried another; else one that does
              not wait, in turn, for somebody may hold the next. NOLOCK: waits for nobody, and RECEIVE looks again */
        SET @handle = NULL;
        IF @waits = 0
            SELECT TOP (1) @handle = pa.ConversationHandle
            FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
            WHERE pa.MessageSequence = -3 AND pa.LastUtc < DATEADD(second, -15, SYSUTCDATETIME())
            ORDER BY pa.LastUtc;
        UPDATE pa
        SET LastUtc = SYSUTCDATETIME()
        FROM [etl].[PoisonAttempt] AS pa
            WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)  /* one row, or another reader''s */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3
          AND pa.LastUtc < DATEADD(second, -15, SYSUTCDATETIME());
        SET @waits = @@ROWCOUNT;

        IF @waits = 0
        BEGIN
            SET @handle = NULL;
            SELECT TOP (1) @handle = q.conversation_handle
            FROM [etl].[TargetQueue] AS q WITH (NOLOCK)
            WHERE NOT EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
                              WHERE pa.ConversationHandle = q.conversation_handle AND pa.MessageSequence = -3)
            ORDER BY CASE WHEN q.conversation_handle > @last THEN 0 ELSE 1 END, q.conversation_handle;
            SET @last = @handle;
        END;

        IF @handle IS NULL
        BEGIN
            WAITFOR DELAY ''00:00:05'';
            CONTINUE;
        END;

        /* 2  Would it land? A batch, else its first message. Behind an Error row all or nothing, for the reader
              takes them together */
        SET @conversationId = NULL;
        SELECT @conversationId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* never changes */
        WHERE ce.conversation_handle = @handle;

        SET @size = CASE WHEN EXISTS (SELECT 1
                                      FROM [etl].[TargetQueue] AS q WITH (NOLOCK)
                                      WHERE q.conversation_handle = @handle
                                        AND q.message_type_name = N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'')
            THEN 2147483647 ELSE 5000 END;
        WHILE @size > 0
        BEGIN
            DELETE FROM @rows;
            INSERT INTO @rows (MessageSequence, MessageType, Body)
            SELECT TOP (@size) ISNULL(q.message_sequence_number, -1), ISNULL(q.message_type_name, N''''), q.message_body
            FROM [etl].[TargetQueue] AS q WITH (NOLOCK)
            WHERE q.conversation_handle = @handle
            ORDER BY q.queuing_order;

            BEGIN TRY
                BEGIN TRANSACTION;
                EXECUTE [etl].[usp_LandBatch] @conversationId, @handle, @rows, @rehearse = 1;
                ROLLBACK TRANSACTION;
                BREAK;
            END TRY
            BEGIN CATCH
                IF @@TRANCOUNT > 0
                    ROLLBACK TRANSACTION;
                IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
                    BREAK;              /* a message''s own error: who receives it, and owns its group, finds whose */

                SET @size = CASE WHEN @size BETWEEN 2 AND 5000 THEN 1 ELSE 0 END;
                IF @size = 0 AND @waits = 0
                    EXECUTE [etl].[usp_LogError] @procedureName = N''usp_PickConversation'', @handle = @handle;
                IF @size = 0
                    EXECUTE [etl].[usp_RecordPoison] @handle, -3, N''waits'', 0;
            END CATCH;
        END;

        /* A batch would land, or nothing is left: it waits no more. Its first message would: the next one at once. */
        IF @waits = 1 AND @size >= 5000
            DELETE pa
            FROM [etl].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3;
        ELSE IF @waits = 1 AND @size = 1
            UPDATE pa
            SET LastUtc = DATEADD(minute, -1, SYSUTCDATETIME())
            FROM [etl].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3;
        IF @size >= 5000 AND EXISTS (SELECT 1 FROM @rows)
            SET @several = @handle;
        ELSE IF @size = 1 AND EXISTS (SELECT 1 FROM @rows)
            SET @single = @handle;
    END;

    RETURN 1;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_03_usp_RehearseLanding.procedure.sql', 4, N'procedure', N'[etl].[usp_RehearseLanding]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_RehearseLanding]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [etl].[ReceivedBatch] READONLY    /* the batch that was rolled back */
AS
/* Redial 0.1.0, configuration etl */
/* Called after a rollback that no row is to blame for: the disk or the log is full, memory is short, a lock
   did not come. Another RECEIVE would be rolled back as well, and five in a row switch the queue off (F-473).
   So the batch is tried in a transaction that is always undone, until it would land; between two attempts
   we wait, holding nothing: a second, then longer, a minute at most.
   Returns 0 it would land, or fails for another reason; 1 the queue was switched off meanwhile. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @copies int;

    DECLARE @since datetime2(3) = SYSUTCDATETIME();
    DECLARE @seconds int = 0;
    DECLARE @delay char(8);
    DECLARE @message nvarchar(4000);

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            /* The sender''s copies first, as the reader does. XLOCK: what a DELETE of them would wait for. */
            SELECT @copies = COUNT(*)
            FROM @rows AS r
            INNER JOIN [etl].[SentMessage] AS sm WITH (XLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
                ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
            OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */
            EXECUTE [etl].[usp_LandBatch] @conversationId, @handle, @rows, @rehearse = 1;
            ROLLBACK TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                BREAK;                  /* something else: the next RECEIVE finds what */
        END CATCH;

        IF NOT EXISTS (SELECT 1
                       FROM sys.service_queues AS q
                       WHERE q.object_id = OBJECT_ID(N''[etl].[TargetQueue]'')
                         AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            RETURN 1;

        SET @seconds = CASE WHEN @seconds = 0 THEN 1 WHEN @seconds < 30 THEN @seconds * 2 ELSE 60 END;
        SET @delay = CONVERT(char(8), DATEADD(second, @seconds, CONVERT(datetime, 0)), 108);
        WAITFOR DELAY @delay;
    END;

    IF @seconds > 0
    BEGIN
        SET @message = CONCAT(N''It goes on after '', DATEDIFF(second, @since, SYSUTCDATETIME()),
            N'' seconds of waiting: see the error before. Nothing was lost.'');
        EXECUTE [etl].[usp_LogError] @procedureName = N''usp_RehearseLanding'', @handle = @handle, @message = @message;
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_03_usp_TakeTurn.procedure.sql', 4, N'procedure', N'[etl].[usp_TakeTurn]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_TakeTurn]
    @take bit                           /* 1: wait for the turn, 10 seconds at most; 0: give it back */
AS
/* Redial 0.1.0, configuration etl */
/* The turn to roll back. A reader keeps it until it has committed something: readers that meet doomed rows
   together would reach five rollbacks in a row, and the queue would go off (F-162). The session''s lock, for
   it outlives the rollback. Of the module user: for a lock of everybody''s (public) anybody could ask.
   Returns 0 or more with the turn, -1 without: refused or timed out, and then on without it. Not asked for
   after a deadlock: the others wait for what is held here. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @turn int = -1;
    DECLARE @name nvarchar(60) = CONCAT(N''Redial poison '', OBJECT_ID(N''[etl].[TargetQueue]''));

    BEGIN TRY
        IF @take = 1
            EXECUTE @turn = sys.sp_getapplock @Resource = @name, @LockMode = N''Exclusive'',
                @LockOwner = N''Session'', @LockTimeout = 10000, @DbPrincipal = N''etl_module'';
        ELSE
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N''Session'', @DbPrincipal = N''etl_module'';
    END TRY
    BEGIN CATCH
        SET @turn = -1;
    END CATCH;

    RETURN @turn;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'77_04_usp_TargetActivation.procedure.sql', 4, N'procedure', N'[etl].[usp_TargetActivation]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_TargetActivation]
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Lands what arrives, a batch per transaction, and ends a dialog when it is over: the target ends
   first, always. Of the tables senders write it touches SentMessage, and there what no sender does any more:
   the copies of messages that have arrived (F-461). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone by itself, not doomed */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 30000;             /* nobody keeps a queue''s messages and waits for ever */

    /* No key, and NULLs: nothing is promised of queuing_order or a system message (F-141); types may be dropped. */
    DECLARE @received TABLE (QueuingOrder bigint NULL, Handle uniqueidentifier NOT NULL,
        MessageSequence bigint NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL);
    DECLARE @rows [etl].[ReceivedBatch];   /* numbered; RECEIVE INTO may not take it (F-161) */
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @state char(2);
    DECLARE @ended bit;                 /* EndOfStream was seen, or that the sender''s side has ended */
    DECLARE @failed bit;                /* an Error row was seen: unread rows may be behind it */
    DECLARE @errorBody varbinary(max);
    DECLARE @messages int;              /* of senders, in this batch */
    DECLARE @phase tinyint;             /* 0 receiving, 1 received, 2 landed */
    DECLARE @suspect uniqueidentifier;  /* whose batch was rolled back: its first row comes next */
    DECLARE @careful bit;               /* 1: one waits for the server''s set-up; who knows of it stays as long */
    DECLARE @chosen uniqueidentifier;   /* the last one, of usp_PickConversation''s */
    DECLARE @spared uniqueidentifier;   /* whose end has failed behind its landing: not asked for again */
    DECLARE @left int;
    DECLARE @turn int;                  /* 0 and up: this session may roll back, the others wait */
    DECLARE @until datetime2(3);        /* then it leaves and is started again: nothing in it can grow for ever */

    SELECT @until = DATEADD(minute, 10, SYSUTCDATETIME()), @turn = -1,
        @careful = CASE WHEN EXISTS (SELECT 1 FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -3) THEN 1 ELSE 0 END;
    WHILE @suspect IS NOT NULL OR @careful = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        /* Something has committed since this reader''s rollback: the next one''s turn. */
        IF @turn >= 0 AND @suspect IS NULL
            EXECUTE @turn = [etl].[usp_TakeTurn] @take = 0;

        SELECT @phase = 0, @handle = NULL, @failed = 0, @ended = 0, @errorBody = NULL, @conversationId = NULL, @state = NULL;
        DELETE FROM @received;

        BEGIN TRY
            /* -- 1  Receive. All rows are of one conversation: groups of this side hold one (F-105) -- */
            IF @careful = 1 AND @suspect IS NULL    /* not the one that waits: chosen by looking */
                EXECUTE @careful = [etl].[usp_PickConversation] @handle OUTPUT, @suspect OUTPUT, @chosen OUTPUT;
            BEGIN TRANSACTION;

            IF ISNULL(@suspect, @handle) IS NULL
                WAITFOR (RECEIVE TOP (5000) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                         FROM [etl].[TargetQueue] INTO @received), TIMEOUT 5000;
            /* Of a suspect one row: it lands or is dead-lettered, so this commits, and a rollback is
               followed by a commit whatever the other conversations hold (F-162). */
            ELSE IF @suspect IS NOT NULL
                RECEIVE TOP (1) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [etl].[TargetQueue] INTO @received
                WHERE conversation_handle = @suspect;
            ELSE
                RECEIVE TOP (5000) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [etl].[TargetQueue] INTO @received
                WHERE conversation_handle = @handle;

            SELECT TOP (1) @handle = r.Handle, @phase = 1 FROM @received AS r;
            IF @phase = 0
            BEGIN
                COMMIT TRANSACTION;
                IF @suspect IS NULL AND @careful = 0
                    RETURN 0;
                IF @careful = 1
                    WAITFOR DELAY ''00:00:01'';   /* another reader has it: a loop would spin */
                SELECT @suspect = NULL;    /* another reader took its rows */
                CONTINUE;
            END;

            SELECT @conversationId = ce.conversation_id, @state = ce.state
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own endpoint, under G (F-126) */
            WHERE ce.conversation_handle = @handle;

            WHILE 1 = 1
            BEGIN
                SELECT @failed = @failed | MAX(CASE r.MessageType WHEN N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'' THEN 1 ELSE 0 END),
                    @messages = SUM(CASE WHEN r.MessageType IN (N''EndOfStream'',
                        N''http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'',
                        N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'') THEN 0 ELSE 1 END),
                    @ended = @ended | MAX(CASE WHEN r.MessageType IN (N''EndOfStream'',
                        N''http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'') THEN 1 ELSE 0 END)
                FROM @received AS r;

                /* -- 2  Land the batch -- */
                /* The sender''s copies: what is accounted for here need not be sent again. First, so that a hook
                   that commits the RECEIVE commits this too. By key, for a range would ask for one that a
                   sender is just writing; and by content, for the number is the sender''s count (F-461). */
                SAVE TRANSACTION RedialBeforeCopies;
                DELETE sm
                FROM @received AS r
                INNER JOIN [etl].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
                    ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
                WHERE sm.MessageType = ISNULL(r.MessageType, sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(r.Body, 0x)
                OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; no word of it (8625) */
                IF @@ROWCOUNT < @messages
                BEGIN
                    ROLLBACK TRANSACTION RedialBeforeCopies;
                    INSERT INTO @rows (MessageSequence, MessageType, Body)
                    SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
                    EXECUTE [etl].[usp_DropCopies] @conversationId, @handle, @rows;
                    DELETE FROM @rows;
                END;

                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
                EXECUTE [etl].[usp_LandBatch] @conversationId, @handle, @rows;
                DELETE FROM @rows;
                SET @phase = 2;         /* what fails from here on is no row''s fault */

                /* -- 3  An Error row overtakes unread rows, and END would delete them: take them first -- */
                IF @failed = 0
                    BREAK;
                SELECT @errorBody = r.Body FROM @received AS r WHERE r.MessageType = N''http://schemas.microsoft.com/SQL/ServiceBroker/Error'';
                DELETE FROM @received;
                RECEIVE TOP (5000) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [etl].[TargetQueue] INTO @received
                WHERE conversation_handle = @handle;
                IF NOT EXISTS (SELECT 1 FROM @received)
                    BREAK;
                SET @phase = 1;
            END;

            /* -- 4  End -- */
            IF @failed = 1 OR @ended = 1
                EXECUTE [etl].[usp_EndTarget] @handle, @conversationId, @state, @errorBody, @spared, @ended OUTPUT;

            COMMIT TRANSACTION;
            SELECT @suspect = NULL;
        END TRY
        BEGIN CATCH
            /* -- 5  Before it rolls back for a row''s sake a reader takes its turn (F-162) -- */
            IF @phase <> 0 AND @turn < 0 AND (@phase = 2 OR NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009)))
                EXECUTE @turn = [etl].[usp_TakeTurn] @take = 1;

            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            IF ERROR_NUMBER() NOT IN (9617, 50214)      /* the queue is off: somebody''s decision and not news */
                EXECUTE [etl].[usp_LogError] @procedureName = N''usp_TargetActivation'', @handle = @handle;

            /* RECEIVE itself: leave, a loop would spin (F-118); unless it passes, or what was chosen is gone (F-266) */
            IF @phase = 0 AND NOT (ERROR_NUMBER() = 8426 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
                BREAK;

            /* Behind its landing: twice for one conversation, and it is not ended here any more (F-473). */
            IF @phase = 2 AND @suspect = @handle
                SET @spared = @handle;
            SET @suspect = CASE WHEN @phase > 0 OR ERROR_NUMBER() <> 8426 THEN ISNULL(@handle, @suspect) END;   /* NULL: RECEIVE failed */

            IF @phase = 1 AND NOT EXISTS (SELECT 1 FROM @rows)
                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
            EXECUTE @left = [etl].[usp_FindPoison] @conversationId, @handle, @rows;
            DELETE FROM @rows;
            IF @left = 1
                BREAK;
            IF @left = 2
                SELECT @suspect = NULL, @careful = 1;
            IF @phase = 0
                SET @until = DATEADD(minute, 10, SYSUTCDATETIME());
        END CATCH;
    END;

    IF @turn >= 0
        EXECUTE [etl].[usp_TakeTurn] @take = 0;
    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_01_usp_OpenGate.procedure.sql', 4, N'procedure', N'[etl].[usp_OpenGate]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_OpenGate]
    @reason nvarchar(400) = NULL,       /* why the gate opens: kept in Gate and OperatorLog; required */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Opens the gate that usp_Drain closed: usp_Send sends again. Not one that a deployment has closed and
   not opened (50162). Result set: none. Returns 0. */
BEGIN
    SET NOCOUNT ON;

    IF @Help = 1
    BEGIN
        PRINT N''usp_OpenGate opens the gate that usp_Drain closed, so that usp_Send sends again.
  @reason   why; required; kept with your login in Gate and OperatorLog
  @Debug    1: print each step
Example: EXECUTE [etl].[usp_OpenGate] @reason = N''''maintenance is over'''';'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50161, N''usp_OpenGate must be called outside a transaction: senders read the gate and would wait for its end.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    IF NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        THROW 50160, N''@reason must say why, in 1 to 400 characters.'', 1;

    BEGIN TRANSACTION;

    UPDATE g
    SET IsOpen = 1,
        ChangedUtc = SYSUTCDATETIME(),
        ChangedBy = ORIGINAL_LOGIN(),
        Reason = @reason
    FROM [etl].[Gate] AS g
        WITH (ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)    /* the one row of this configuration */
    WHERE g.ConfigId = 1;

    /* Asked while the gate''s row is ours. 38_change closes it, and 93_settings takes the mark away. */
    IF EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'')
    BEGIN
        ROLLBACK TRANSACTION;           /* a caller''s CATCH gets no transaction of ours to end */
        THROW 50162, N''A deployment has closed the gate and has not come to its end: procedures of two choices may be mixed, and the gate stays closed. Next: run redial.sql to its end, with the old choices or the new; it opens the gate.'', 1;
    END;

    INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
    VALUES (N''open gate'', N''configuration etl'', @reason);

    COMMIT TRANSACTION;

    IF @Debug = 1
        PRINT N''The gate is open.'';

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_02_usp_CloseDialogs.procedure.sql', 4, N'procedure', N'[etl].[usp_CloseDialogs]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_CloseDialogs]
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @passes int OUTPUT,
    @recycled bigint OUTPUT,            /* dialogs closed: EndOfStream was sent, or they were dead */
    @left bigint OUTPUT,                /* dialogs senders could still use; NULL: one is busy */
    @Debug bit = 0                      /* 1: print each pass */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Closes every dialog that senders use, for usp_Drain, with the gate closed and committed. Called outside
   a transaction; waits for no single lock longer than a second. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    DECLARE @dialogs TABLE (DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Handle uniqueidentifier NOT NULL);
    DECLARE @id int;
    DECLARE @handle uniqueidentifier;
    DECLARE @result int;

    SELECT @passes = 0, @recycled = 0, @left = NULL;
    WHILE 1 = 1
    BEGIN
        SET @passes = @passes + 1;

        /* A list of whom to visit, no decision: NOLOCK waits for nobody, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration''s rows only. No cursor: each visit commits,
           and CURSOR_CLOSE_ON_COMMIT may be on (F-372). */
        DELETE FROM @dialogs;
        INSERT INTO @dialogs (Handle)
        SELECT sc.Handle
        FROM [etl].[SessionConversations] AS sc
            WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.BegunUtc IS NOT NULL;

        WHILE EXISTS (SELECT 1 FROM @dialogs)
        BEGIN
            SELECT TOP (1) @id = d.DialogId, @handle = d.Handle FROM @dialogs AS d ORDER BY d.DialogId;
            DELETE FROM @dialogs WHERE DialogId = @id;

            /* NOWAIT inside: a busy row is left to the next pass. */
            EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;
            IF @result = 0
                SET @recycled = @recycled + 1;
        END;

        /* The look that decides, with locks: a sender that read the gate open has inserted or locked
           its row before, and is met here. READPAST would miss it, NOLOCK would count what rolls back.
           UPDLOCK: the lock of a sender that has only looked its row up is a U lock, which a plain
           read passes; a slot it is about to use still reads as unused. NOWAIT: error 1222 instead of a wait. All rows, no filter that
           could be tried before the lock is. */
        SET @left = NULL;
        BEGIN TRY
            SELECT @left = ISNULL(SUM(CASE WHEN sc.BegunUtc IS NULL THEN 0 ELSE 1 END), 0)
            FROM [etl].[SessionConversations] AS sc
                /* lint: allow SB09: a look at who is at work, which shall keep nothing */
                WITH (UPDLOCK, ROWLOCK, NOWAIT, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as said above */
            WHERE sc.ConfigId = 1;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
        END CATCH;

        IF @Debug = 1
            PRINT CONCAT(N''Pass '', @passes, N'': dialogs closed so far '', @recycled, N'', left '', ISNULL(CONVERT(nvarchar(20), @left), N''unknown, one is busy''));

        IF @left = 0 OR SYSUTCDATETIME() >= @deadline
            RETURN 0;
        WAITFOR DELAY ''00:00:00.100'';
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_02_usp_CloseGate.procedure.sql', 4, N'procedure', N'[etl].[usp_CloseGate]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_CloseGate]
    @reason nvarchar(400),
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @mark nvarchar(60) = NULL,          /* of a deployment that closes it: 93_settings opens it again */
    @closed bit OUTPUT,                 /* 0: senders held the gate until the deadline; it is still open */
    @wasOpen bit OUTPUT                 /* 0: it was closed before, and not by this mark */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Closes and commits the gate, for usp_Drain. Called outside a transaction.
   Senders read the gate only in passing here, so this is soon done.
   NOWAIT: a request that queues would have every new sender wait behind it; so it asks again instead,
   and while it waits it holds nothing (F-175). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @before TABLE (IsOpen bit NOT NULL);

    SET @closed = 0;
    SET @wasOpen = 0;
    WHILE @closed = 0
    BEGIN
        BEGIN TRY
            DELETE FROM @before;
            BEGIN TRANSACTION;

            UPDATE g
            SET IsOpen = 0,             /* closed already: who has closed it, and why, stays */
                ChangedUtc = CASE WHEN g.IsOpen = 1 THEN SYSUTCDATETIME() ELSE g.ChangedUtc END,
                ChangedBy = CASE WHEN g.IsOpen = 1 THEN ORIGINAL_LOGIN() ELSE g.ChangedBy END,
                Reason = CASE WHEN g.IsOpen = 1 THEN @reason ELSE g.Reason END
            OUTPUT DELETED.IsOpen INTO @before (IsOpen)
            FROM [etl].[Gate] AS g
                WITH (ROWLOCK, NOWAIT, INDEX ([PK_Gate]), FORCESEEK)    /* NOWAIT: see above */
            WHERE g.ConfigId = 1;

            /* Somebody removed the row, and a gate without a row is open. */
            IF NOT EXISTS (SELECT 1 FROM @before)
                INSERT INTO [etl].[Gate] (ConfigId, IsOpen, Reason)
                OUTPUT 1 INTO @before (IsOpen)
                VALUES (1, 0, @reason);

            /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
            IF EXISTS (SELECT 1 FROM @before AS b WHERE b.IsOpen = 1)
            BEGIN
                SET @wasOpen = 1;
                IF @mark IS NOT NULL AND NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'')
                    INSERT INTO [etl].[Setting] (Name, Value) VALUES (N''deployment.gate'', @mark);
            END
            ELSE IF EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'' AND st.Value = @mark)
                SET @wasOpen = 1;       /* closed by an earlier try of the same deployment, which was stopped */

            INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
            VALUES (N''close gate'', N''configuration etl'', @reason);

            COMMIT TRANSACTION;
            SET @closed = 1;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 1222: a sender holds the gate; 1205: cannot be, but is as harmless. */
            IF ERROR_NUMBER() NOT IN (1205, 1222)
                THROW;
            IF SYSUTCDATETIME() >= @deadline
                RETURN 1;
        END CATCH;

        IF @closed = 0
            WAITFOR DELAY ''00:00:00.050'';
    END;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_02_usp_EndLeakedOne.procedure.sql', 4, N'procedure', N'[etl].[usp_EndLeakedOne]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_EndLeakedOne]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @isInitiator bit,                   /* 1: of the side that sends, 0: of the target */
    @action nvarchar(30),               /* of ufn_Leaked */
    @WhatIf bit = 1,                    /* 1: only say what would be done */
    @outcome nvarchar(400) OUTPUT       /* NULL: done */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* lint: operator */
/* One line of usp_EndLeaked, looked at once more under locks. Called outside a transaction, has one of its
   own; raises what goes wrong. No read waits longer than the caller''s LOCK_TIMEOUT.
   What only a member of db_owner may or sees is done as the caller: nothing of ours lends that right. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @copies bigint = 0;
    DECLARE @result int;
    DECLARE @isOwner bit;
    DECLARE @initiator uniqueidentifier = NULL;
    DECLARE @pending TABLE (MessageSequence bigint NOT NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL, ToService nvarchar(256) NULL);

    SET @outcome = CASE WHEN @WhatIf = 1 THEN CASE @action WHEN N''CLOSE'' THEN N''would be closed'' WHEN N''GIVE UP'' THEN N''would be given up''
        WHEN N''END ALONE'' THEN N''would be cleaned up'' WHEN N''END WITH CLEANUP'' THEN N''would be cleaned up'' WHEN N''DELETE ROW'' THEN N''would be deleted''
        WHEN N''FREE SLOT'' THEN N''would be freed'' ELSE N''would be ended'' END END;

    EXECUTE AS CALLER;
    SET @isOwner = CASE WHEN USER_ID() = 1 THEN 1 ELSE ISNULL(IS_MEMBER(N''db_owner''), 0) END;   /* the page of IS_MEMBER says 0 for dbo */
    REVERT;

    IF @action = N''END ALONE''
    BEGIN
        SELECT @initiator = cl.Handle
        FROM [etl].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written when it was begun; waits for nobody */
        WHERE cl.ConversationId = @conversationId;
        IF @initiator IS NULL                      /* its row was deleted by hand */
            SELECT @initiator = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* a handle never changes */
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
    END;

    BEGIN TRANSACTION;

    IF @action IN (N''END'', N''END ALONE'')
    BEGIN
        /* Nothing new arrives on it: once nothing is unread, nothing will be. A plain read: it waits for
           a reader that holds the rows, and so is told the truth. */
        IF EXISTS (SELECT 1 FROM [etl].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
           OR EXISTS (SELECT 1 FROM [etl].[InitiatorQueue] AS q WHERE q.conversation_handle = @handle)
            SET @outcome = N''kept: unread messages are left; its activation handles them'';
        ELSE IF (@isInitiator = 1 OR @action = N''END ALONE'')
                AND EXISTS (SELECT 1 FROM [etl].[SentMessage] AS sm WITH (FORCESEEK) WHERE sm.ConversationId = @conversationId)    /* its rows only */
            SET @outcome = CASE @action WHEN N''END'' THEN N''kept: messages have not landed; call usp_Resend with its @handle''
                                        ELSE N''kept: messages have not landed; call usp_Resend, which ends it'' END;
        ELSE IF @action = N''END ALONE''
                AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS i WHERE i.conversation_handle = @initiator)     /* may wait, holding nothing (F-126) */
            SET @outcome = N''kept: its sender''''s side is there'';
        ELSE IF @outcome IS NULL AND @action = N''END''
            END CONVERSATION @handle;
        /* WITH CLEANUP: there is nobody an EndDialog could reach. */
        ELSE IF @outcome IS NULL
            END CONVERSATION @handle WITH CLEANUP;
    END
    ELSE IF @action = N''END WITH CLEANUP'' AND @outcome IS NULL AND @isOwner = 0
        SET @outcome = CONCAT(N''kept: only a member of db_owner cleans up what is CLOSED (28006), and you are none. Next: one calls usp_EndLeaked, or runs END CONVERSATION '''''', @handle, N'''''' WITH CLEANUP; it keeps nothing from being sent'');
    ELSE IF @action = N''END WITH CLEANUP'' AND @outcome IS NULL
    BEGIN
        EXECUTE AS CALLER;
        END CONVERSATION @handle WITH CLEANUP;
        REVERT;
    END
    ELSE IF @action = N''GIVE UP''
    BEGIN
        /* All of a dialog goes in one transaction: a very large one wants somebody who has looked at the
           log first. Nobody sends behind EndOfStream: there will not be more. */
        SELECT @copies = COUNT(*)
        FROM (SELECT TOP (100001) sm.MessageSequence
              FROM [etl].[SentMessage] AS sm
                  WITH (NOLOCK, FORCESEEK)      /* a size, no decision on a row */
              WHERE sm.ConversationId = @conversationId) AS p;
        IF @copies > 100000
            SET @outcome = CONCAT(N''kept: more than 100000 messages have not landed. Next: see that there is room in the log for about three times their bytes; then EXECUTE '', N''[etl].[usp_Resend]'', N'' @handle = '''''', @handle, N'''''', @most = 2000000000, @reason = N''''usp_EndLeaked'''', @WhatIf = 0;'');
        /* The list was read with NOLOCK, to which an end that is not committed looks like one. So once
           more by a read that may wait, holding nothing (F-126). */
        ELSE IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS t
                        WHERE t.conversation_id = @conversationId AND t.is_initiator = 0 AND t.state <> ''CD'')
            SET @outcome = N''kept: its target is there'';
        /* Takes G, so that whoever is just ending this dialog has committed; then all of it again. */
        IF @outcome IS NULL
            EXECUTE [etl].[usp_ArmTimer] @handle = @handle, @seconds = 30;
        IF @outcome IS NULL
           AND NOT EXISTS (SELECT 1
                           FROM sys.conversation_endpoints AS ce
                               WITH (NOLOCK)    /* our own endpoint, under G (F-126) */
                           INNER JOIN [etl].[ConversationLog] AS cl
                               WITH (FORCESEEK)     /* this dialog''s row only, under G (F-127) */
                               ON cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL
                           WHERE ce.conversation_handle = @handle AND ce.state = ''CO'' AND GET_TRANSMISSION_STATUS(@handle) = N''''
                             AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS t WITH (NOLOCK)     /* as above */
                                             WHERE t.conversation_id = @conversationId AND t.is_initiator = 0 AND t.state <> ''CD''))
            SET @outcome = N''kept: it has ended or failed meanwhile, is in use, or its target is there'';
        IF @outcome IS NULL
            EXECUTE @result = [etl].[usp_ResendPending] @handle = @handle, @code = 0,
                @description = N''Given up by usp_EndLeaked: the target was gone.'';
        IF @outcome IS NULL AND @result <> 0
            SET @outcome = N''kept: a reader is at work on it'';
    END
    ELSE IF @action IN (N''END UNUSED'', N''CLOSE'', N''END UNREACHABLE'') AND @outcome IS NULL
    BEGIN
        /* Takes G, so that a sender that just begins or closes this dialog has committed. */
        EXECUTE [etl].[usp_ArmTimer] @handle = @handle, @seconds = 30;
        IF @action <> N''END UNREACHABLE''
           AND EXISTS (SELECT 1 FROM [etl].[ConversationLog] AS cl
                           WITH (FORCESEEK)     /* this dialog''s row only, under G (F-127) */
                       WHERE cl.Handle = @handle AND cl.EndOfStreamUtc IS NOT NULL)
            SET @outcome = N''kept: it is closing now'';
        IF EXISTS (SELECT 1
                   FROM [etl].[SessionConversations] AS sc
                       /* We hold G, and a sender that holds its row may want it: a wait here, or a
                          scan that meets that row, would close the circle. A busy entry fails (1222)
                          and is shown. */
                       WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                   WHERE sc.Handle = @handle)
            SET @outcome = N''kept: it is in use now'';
        IF @outcome IS NULL AND @action = N''CLOSE''
        BEGIN
            EXECUTE [etl].[usp_SendEndOfStream] @handle = @handle;
            /* Of a dialog somebody began by hand: the next run knows that it is closing. */
            INSERT INTO [etl].[ConversationLog] (Handle, ConversationId, ConfigId, EndOfStreamUtc, Reason)
            SELECT @handle, @conversationId, 1, SYSUTCDATETIME(), N''Begun by nobody of ours; closed by usp_EndLeaked.''
            WHERE NOT EXISTS (SELECT 1 FROM [etl].[ConversationLog] AS cl WITH (FORCESEEK) WHERE cl.Handle = @handle);     /* as above */
        END
        ELSE IF @outcome IS NULL AND @action = N''END UNUSED''
            END CONVERSATION @handle;
        ELSE IF @outcome IS NULL
        BEGIN
            /* Nothing of it can arrive. What somebody sent on it by hand has no copy: it is kept as dead letters,
               which only who sees sys.transmission_queue can do (F-113). */
            IF @isOwner = 0
                SET @outcome = CONCAT(N''kept: messages that somebody sent on it by hand are seen by members of db_owner only, and you are none. Next: one calls usp_EndLeaked, or looks in sys.transmission_queue and runs END CONVERSATION '''''', @handle, N'''''' WITH CLEANUP'');
            ELSE
            BEGIN
                EXECUTE AS CALLER;
                INSERT INTO @pending (MessageSequence, MessageType, Body, ToService)
                SELECT tq.message_sequence_number, tq.message_type_name, tq.message_body, tq.to_service_name
                FROM sys.transmission_queue AS tq
                WHERE tq.conversation_handle = @handle AND tq.is_end_of_dialog = 0 AND tq.is_conversation_error = 0
                  AND tq.message_type_name COLLATE Latin1_General_BIN2 <> N''EndOfStream'';
                REVERT;
                INSERT INTO [etl].[DeadLetter] (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                SELECT N''initiator'', @conversationId, @handle, p.MessageSequence, p.MessageType, p.Body,
                    CONCAT(N''usp_EndLeaked: service '', p.ToService, N'' is missing'')
                FROM @pending AS p;
                END CONVERSATION @handle WITH CLEANUP;
            END;
        END;
    END;

    /* Nobody else will close its log row, and usp_PurgeLogs removes closed ones only. G is ours. */
    IF @outcome IS NULL AND @action IN (N''END'', N''END UNUSED'', N''END WITH CLEANUP'', N''END UNREACHABLE'')
        UPDATE cl
        SET EndedUtc = SYSUTCDATETIME(),
            Reason = ISNULL(cl.Reason, N''Ended by usp_EndLeaked.'')
        FROM [etl].[ConversationLog] AS cl
            WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog''s row only */
        WHERE cl.Handle = @handle
          AND cl.EndedUtc IS NULL;

    /* A dialog that is kept keeps its timer as it was. */
    IF @outcome IS NOT NULL
        ROLLBACK TRANSACTION;
    ELSE
        COMMIT TRANSACTION;

    /* A row whose dialog is gone, by now or before: R alone, and not if it is in use. */
    IF @outcome IS NULL
        EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
    IF @outcome IS NULL AND @result = 1 AND @action IN (N''DELETE ROW'', N''FREE SLOT'')
        SET @outcome = N''kept: it is in use now'';
    IF @outcome IS NULL AND @result = 2
        SET @outcome = N''failed: see ErrorLog, its row is still there'';
    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_02_usp_InTheWay.procedure.sql', 4, N'procedure', N'[etl].[usp_InTheWay]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_InTheWay]
    @begunBefore datetime = NULL,       /* only transactions that began before this, the server''s local time; NULL: all */
    @who nvarchar(1500) OUTPUT          /* N'''': nobody; else at most five sessions */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Names the sessions whose open transactions hold rows of our tables or messages of our queues: who a
   drain, a change of choices or an uninstall waits for. Whoever locks a row also has a lock on its table,
   so this looks for locks on our own tables and queues: what else is at work in the database is not
   counted. Readers that activation started come and go and are not named. Reads no table, waits for nobody.
   Asked as the caller, since a user of one database is nobody to the server (F-240).
   Returns 0, or 1: the caller has no VIEW SERVER STATE, and who it is cannot be seen. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @ours TABLE (ObjectId bigint NOT NULL PRIMARY KEY);
    DECLARE @holders TABLE (SessionId int NOT NULL PRIMARY KEY);
    DECLARE @database int = DB_ID();
    DECLARE @session int = 0;
    DECLARE @named int = 0;
    DECLARE @text nvarchar(500);

    INSERT INTO @ours (ObjectId)
    SELECT o.object_id
    FROM sys.objects AS o
    WHERE o.object_id IN (OBJECT_ID(N''[etl].[SessionConversations]'', N''U''), OBJECT_ID(N''[etl].[Gate]'', N''U''), OBJECT_ID(N''[etl].[Everlasting]'', N''U''), OBJECT_ID(N''[etl].[ConversationLog]'', N''U''), OBJECT_ID(N''[etl].[SentMessage]'', N''U''), OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ''), OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ''))
    UNION
    SELECT it.object_id                 /* where a queue keeps its messages (F-170) */
    FROM sys.internal_tables AS it
    WHERE it.parent_object_id IN (OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ''), OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ''));

    SET @who = N'''';
    EXECUTE AS CALLER;
    IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER STATE''), 0) = 0
       AND ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER PERFORMANCE STATE''), 0) = 0    /* from 2022; NULL before */
    BEGIN
        REVERT;
        SET @who = N''sessions that cannot be named to you without VIEW SERVER STATE'';
        RETURN 1;
    END;

    INSERT INTO @holders (SessionId)
    SELECT DISTINCT tl.request_session_id
    FROM sys.dm_tran_locks AS tl
    WHERE tl.resource_database_id = @database
      AND tl.resource_type = N''OBJECT''
      AND tl.request_status = N''GRANT''
      AND tl.request_session_id <> @@SPID
      AND EXISTS (SELECT 1 FROM @ours AS o WHERE o.ObjectId = tl.resource_associated_entity_id)
      AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.spid = tl.request_session_id);

    WHILE @named < 5
    BEGIN
        SET @text = NULL;
        SELECT TOP (1) @session = h.SessionId,
            @text = LEFT(CONCAT(N''session '', h.SessionId, N'' (login '', es.login_name, N'', host '', ISNULL(es.host_name, N''unknown''),
                N'', program '', ISNULL(es.program_name, N''unknown''), N'', transaction open since '', CONVERT(nvarchar(19), b.BegunAt, 120), N'' server time)''), 300)
        FROM @holders AS h
        INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = h.SessionId
        CROSS APPLY (SELECT MIN(at.transaction_begin_time) AS BegunAt
                     FROM sys.dm_tran_session_transactions AS st
                     INNER JOIN sys.dm_tran_active_transactions AS at ON at.transaction_id = st.transaction_id
                     WHERE st.session_id = h.SessionId) AS b
        WHERE h.SessionId > @session
          AND b.BegunAt < ISNULL(@begunBefore, ''99991231'')
        ORDER BY h.SessionId;
        IF @text IS NULL
            BREAK;
        SET @who = LEFT(CONCAT(@who, CASE WHEN @who <> N'''' THEN N''; '' END, @text), 1500);
        SET @named = @named + 1;
    END;

    REVERT;
    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_02_usp_ReopenGate.procedure.sql', 4, N'procedure', N'[etl].[usp_ReopenGate]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ReopenGate]
    @mark nvarchar(60) = NULL           /* of the deployment that has closed it */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Opens the gate again for a drain that did not finish: nothing has been replaced. Nobody sends on a dialog
   that has got its EndOfStream: rows are gone with theirs, and key = single looks at ConversationLog.
   Called outside a transaction. Returns 0, or 1: a transaction that was refused still holds the gate''s row
   (F-148), and it stays closed until somebody calls usp_OpenGate. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET LOCK_TIMEOUT 5000;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
        UPDATE g
        SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N''the drain did not finish''
        FROM [etl].[Gate] AS g
            WITH (ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)        /* its one row */
        WHERE g.ConfigId = 1;
        DELETE FROM [etl].[Setting] WHERE Name = N''deployment.gate'' AND Value = @mark;
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N''open gate'', N''configuration etl'', N''the drain did not finish'');
        COMMIT TRANSACTION;
        RETURN 0;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() <> 1222
            THROW;
        RETURN 1;
    END CATCH;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_02_usp_WaitForEnds.procedure.sql', 4, N'procedure', N'[etl].[usp_WaitForEnds]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_WaitForEnds]
    @deadline datetime2(3),             /* UTC: when to stop; past: one look */
    @resend bit = 0,                    /* 1: what dialogs ended by hand have left goes out again meanwhile */
    @open bigint OUTPUT,                /* endpoints that have not ended */
    @copies bigint OUTPUT               /* messages that have not landed; 10000: or more */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Waits until no dialog of this configuration is open and nothing of it is on its way, for usp_Drain and
   uninstall. Called outside a transaction. CLOSED endpoints are only the target''s memory of replays (F-106).
   Endpoints are listed with NOLOCK: dialogs of others in this database are neither waited for nor counted.
   That list shows an END that is not committed as done. So a dialog counts as ended when ConversationLog
   says so, committed, or when we have had its group (F-109): whoever ends it holds that until he commits. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    DECLARE @seen TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY, ConversationId uniqueidentifier NOT NULL);
    DECLARE @handle uniqueidentifier;
    DECLARE @pauseMs int = 125;
    DECLARE @pause varchar(16);

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* The copies first, with locks: a resend that is just moving them is waited for, and its new
               dialog is seen then. */
            SELECT @open = 1, @copies = 1;      /* what an error leaves: not yet */
            SELECT @copies = COUNT(*) FROM (SELECT TOP (10000) sm.MessageSequence FROM [etl].[SentMessage] AS sm WITH (READCOMMITTEDLOCK)) AS x;

            INSERT INTO @seen (Handle, ConversationId)
            SELECT ce.conversation_handle, ce.conversation_id
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)         /* see above */
            INNER JOIN sys.services AS s ON s.service_id = ce.service_id
            WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')
              AND ce.state <> ''CD''
              AND NOT EXISTS (SELECT 1 FROM @seen AS k WHERE k.Handle = ce.conversation_handle);

            SELECT @open = COUNT_BIG(*)
            FROM @seen AS k
            INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = k.Handle
            WHERE ce.state <> ''CD'';

            IF @open = 0
                DELETE k
                FROM @seen AS k
                WHERE EXISTS (SELECT 1
                              FROM @seen AS i
                              INNER JOIN [etl].[ConversationLog] AS cl
                                  WITH (READCOMMITTEDLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)     /* these dialogs'' rows, committed */
                                  ON cl.Handle = i.Handle
                              WHERE i.ConversationId = k.ConversationId AND cl.EndedUtc IS NOT NULL);

            WHILE @open = 0 AND EXISTS (SELECT 1 FROM @seen)
            BEGIN
                SELECT TOP (1) @handle = k.Handle FROM @seen AS k;
                BEGIN TRANSACTION;
                /* Takes the group, or says that there is none any more. 1222: somebody is at work on it. */
                EXECUTE [etl].[usp_ArmTimer] @handle = @handle, @seconds = 86400;
                IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle AND ce.state <> ''CD'')
                    SET @open = 1;
                ROLLBACK TRANSACTION;   /* its timer is as it was */
                IF @open = 0
                    DELETE FROM @seen WHERE Handle = @handle;
            END;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
            IF @open = 0
                SET @open = 1;
        END CATCH;

        IF @resend = 1 AND @copies > 0
            EXECUTE [etl].[usp_ResendStranded] @olderThanSeconds = 0;

        IF (@open = 0 AND @copies = 0) OR SYSUTCDATETIME() >= @deadline
            RETURN 0;

        /* 0.25 s at first, then twice as long each time up to 4 s: the view has a row for each
           endpoint of the database, and the broker needs it more than we do. */
        SET @pauseMs = CASE WHEN @pauseMs < 4000 THEN @pauseMs * 2 ELSE 4000 END;
        IF @pauseMs > DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline)
            SET @pauseMs = DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline) + 1;
        SET @pause = CONVERT(varchar(12), DATEADD(millisecond, CASE WHEN @pauseMs < 1 THEN 1 ELSE @pauseMs END, CONVERT(time(3), ''00:00:00'')), 121);
        WAITFOR DELAY @pause;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_03_usp_Drain.procedure.sql', 4, N'procedure', N'[etl].[usp_Drain]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_Drain]
    @reason nvarchar(400) = NULL,       /* why: kept in Gate and OperatorLog; required with @WhatIf = 0 */
    @waitSeconds int = 60,              /* 0 to 3600: how long to go on, all in all */
    @keepClosed bit = 0,                /* 1: the gate stays closed out of time too */
    @WhatIf bit = 1,                    /* 1: only show what is open now */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0,                     /* 1: print each pass */
    @mark nvarchar(60) = NULL,          /* of a deployment: what opens the gate when that is through */
    @said nvarchar(2000) = NULL OUTPUT  /* what is in the way, for the error of a deployment */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: no new sends, every dialog closed with EndOfStream, both sides ended. A sender gets
   in before the gate closes or gets 50102; nobody sends after EndOfStream, nothing is lost (F-148).
   It looks first: a transaction that holds something of ours for more than ten seconds already may have
   been forgotten, and nobody is kept out for that one; it ends or is named, with the gate as it was.
   Result set, one row per outcome: Outcome nvarchar(30), Figure bigint, Detail nvarchar(1500).
   Returns 0: drained (or shown), 1: not yet; the gate is as the first row says. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @deadline datetime2(3);
    DECLARE @begunBefore datetime = DATEADD(second, -10, GETDATE());
    DECLARE @who nvarchar(1500) = N'''';
    DECLARE @blind int = 0;             /* 1: who it is cannot be seen */
    DECLARE @closed bit = 0;
    DECLARE @wasOpen bit = 0;
    DECLARE @passes int = 0;
    DECLARE @left bigint = NULL;        /* dialogs senders could still use; NULL: one is busy */
    DECLARE @recycled bigint = 0;
    DECLARE @open bigint = 0;
    DECLARE @pending bigint;
    DECLARE @copies bigint = 0;         /* messages that have not landed */
    DECLARE @drained bit = 0;
    DECLARE @largest bigint = 0;        /* at most so many copies has a dialog that is gone */
    DECLARE @largestOf uniqueidentifier = ''00000000-0000-0000-0000-000000000000'', @firstCopy bigint;

    IF @Help = 1
    BEGIN
        PRINT N''usp_Drain closes the gate (usp_Send then refuses with 50102), closes every dialog of
configuration etl and waits until both sides of each have ended. Open the gate with usp_OpenGate.
Out of time it names who is in the way, and opens the gate again if it was open before.
  @reason       why; required with @WhatIf = 0; kept with your login in Gate and OperatorLog
  @waitSeconds  0 to 3600, 60 by default: how long to go on, all in all
  @keepClosed   1: the gate stays closed out of time too; call again to go on
  @WhatIf       1 (default): only show what is open now, and who is in the way; 0: do it
  @Debug        1: print each pass
  @mark, @said  for redial.sql and uninstall.sql
Example: EXECUTE [etl].[usp_Drain] @reason = N''''server moves tonight'''', @waitSeconds = 300, @WhatIf = 0;
Not drained in time: a sender is in a long transaction, or the target does not read. See usp_Health.'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50161, N''usp_Drain must be called outside a transaction: each step commits.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 1000;              /* whatever the caller''s: what is busy longer is asked again (F-116) */

    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N''@waitSeconds must be 0 to 3600. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50160, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Look first: who was here before us for long                                              */
    /* ----------------------------------------------------------------------------------------- */
    WHILE @WhatIf = 0
    BEGIN
        EXECUTE AS CALLER;              /* only the server knows; see usp_InTheWay */
        EXECUTE @blind = [etl].[usp_InTheWay] @begunBefore = @begunBefore, @who = @who OUTPUT;
        REVERT;
        IF @who = N'''' OR @blind = 1 OR SYSUTCDATETIME() >= @deadline
            BREAK;
        WAITFOR DELAY ''00:00:01'';
    END;

    IF @WhatIf = 0 AND (@who = N'''' OR @blind = 1)
    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 2  The gate, committed before anything is looked at; the dialogs; both sides of each    */
        /* ------------------------------------------------------------------------------------- */
        EXECUTE [etl].[usp_CloseGate] @reason = @reason, @deadline = @deadline, @mark = @mark,
            @closed = @closed OUTPUT, @wasOpen = @wasOpen OUTPUT;
        IF @closed = 1
            EXECUTE [etl].[usp_CloseDialogs] @deadline = @deadline, @passes = @passes OUTPUT,
                @recycled = @recycled OUTPUT, @left = @left OUTPUT, @Debug = @Debug;
        IF @closed = 1
            EXECUTE [etl].[usp_WaitForEnds] @deadline = @deadline, @resend = 1, @open = @open OUTPUT, @copies = @copies OUTPUT;
        IF @closed = 1 AND @left = 0 AND @open = 0 AND @copies = 0
            SET @drained = 1;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF @wasOpen = 1
            EXECUTE [etl].[usp_ReopenGate] @mark = @mark;
        THROW;
    END CATCH;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  What is left, and who is in the way; then the gate as it was                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @drained = 0
    BEGIN
        IF @closed = 0
            EXECUTE [etl].[usp_WaitForEnds] @deadline = ''20000101'', @open = @open OUTPUT, @copies = @copies OUTPUT;
        IF @WhatIf = 1 OR @closed = 1 OR @who = N''''
        BEGIN
            EXECUTE AS CALLER;
            EXECUTE @blind = [etl].[usp_InTheWay] @begunBefore = NULL, @who = @who OUTPUT;
            REVERT;
        END;
        IF @wasOpen = 1 AND @keepClosed = 0
            EXECUTE @closed = [etl].[usp_ReopenGate] @mark = @mark;
    END
    ELSE
        SET @who = N'''';

    SELECT @pending = COUNT_BIG(*) FROM [etl].[ufn_Pending]();

    WHILE @copies > 0
    BEGIN
        SET @firstCopy = NULL;
        SELECT TOP (1) @largestOf = sm.ConversationId, @firstCopy = sm.MessageSequence
        FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId > @largestOf
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @firstCopy IS NULL
            BREAK;
        SELECT @largest = MAX(sm.MessageSequence) - @firstCopy + 1      /* numbers step by 1 (F-452) */
        FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId = @largestOf
          AND NOT EXISTS (SELECT 1 FROM [etl].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)
                          INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = cl.Handle AND ce.state IN (''SO'', ''CO'')
                          WHERE cl.ConversationId = @largestOf)
        HAVING MAX(sm.MessageSequence) - @firstCopy >= @largest;
    END;

    SET @said = CONCAT(CASE WHEN @who <> N'''' THEN CONCAT(N''In the way: '', @who, N''. '') END,
        CASE WHEN @open > 0 THEN CONCAT(@open, N'' conversation endpoints are open. '') END,
        CASE WHEN @copies > 0 AND @largest > 0 THEN N''Messages of dialogs that are gone have not landed. ''
             WHEN @copies > 0 THEN N''Messages have not landed. '' END);

    /* ----------------------------------------------------------------------------------------- */
    /* 4  One row per outcome                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT o.Outcome, o.Figure, o.Detail
    FROM
    (
        SELECT 1 AS Place,
            CASE WHEN @WhatIf = 1 THEN N''would be closed'' WHEN @closed = 1 THEN N''gate closed'' WHEN @wasOpen = 1 THEN N''gate open again'' ELSE N''gate still open'' END AS Outcome,
            @passes AS Figure,
            CASE WHEN @WhatIf = 1 THEN N''nothing was done: @WhatIf = 1''
                 WHEN @closed = 0 THEN N''not drained in time; call again, or with a longer @waitSeconds''
                 ELSE N''passes over the dialogs'' END AS Detail
        UNION ALL
        SELECT 2, N''dialogs closed'', @recycled, N''EndOfStream was sent on them now, or they were dead''
        UNION ALL
        SELECT 3, N''dialogs in use'', ISNULL(@left, 1), N''a sender is at work: it commits or rolls back first''
        WHERE @passes > 0 AND (@left <> 0 OR @left IS NULL)
        UNION ALL
        SELECT 4, N''in the way'', NULL, @who        /* or that it cannot be seen */
        WHERE @who <> N''''
        UNION ALL
        SELECT 5, N''endpoints open'', @open, N''both sides, CLOSED ones left out; 0: everything was received''
        UNION ALL
        SELECT 6, N''dialogs pending'', @pending, N''not in their queue yet: see vw_Pending''
        WHERE @pending > 0
        UNION ALL
        SELECT 7, N''messages not landed'', @copies, CONCAT(N''10000: or more; see vw_Unlanded'',
                CASE WHEN @largest = 0 THEN N''; their dialogs are open still''
                     ELSE CONCAT(N''; their dialogs are gone: see vw_Errors, then EXECUTE '', N''[etl].[usp_Resend]'', N'' @most = '', @largest, N'', @reason = N''''usp_Drain'''', @WhatIf = 0;'', CASE WHEN @largest > 100000 THEN N'' One dialog is large: first see that there is room in the log for about three times its bytes'' END) END)
        WHERE @copies > 0
    ) AS o
    ORDER BY o.Place;

    RETURN CASE WHEN @WhatIf = 1 OR @drained = 1 THEN 0 ELSE 1 END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_AcknowledgeLanding.procedure.sql', 4, N'procedure', N'[etl].[usp_AcknowledgeLanding]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_AcknowledgeLanding]
    @reader nvarchar(128) = NULL,       /* any name that stays the same, one for each who reads */
    @upTo binary(8) = NULL,             /* its mark: it needs no row with RowVersion < @upTo again */
    @forget bit = 0,                    /* 1: this reader is gone, do not wait for it any more */
    @Help bit = 0
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* A reader of Landing says how far it has got, so that usp_PurgeLanding removes nothing it still
   needs. May go back as well. RowVersion tells which rows are new and nothing of their order within a
   batch: a reader orders by ConversationId and MessageSequence (F-365). Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'''';

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N''usp_AcknowledgeLanding: a reader of Landing says how far it has got; usp_PurgeLanding removes only what every reader has acknowledged.
  @reader    name of the reader, 1 to 128 characters
  @upTo      mark: rows with RowVersion < @upTo are not needed again; at most MIN_ACTIVE_ROWVERSION()
  @forget    1: forget this reader, @upTo is not used
LandingAcknowledged has the readers, and in row usp_PurgeLanding the mark below which rows may be gone.
RowVersion says which rows are new, not their order: order a conversation by MessageSequence (F-365).
Take the mark before you read, read rows below it, then acknowledge it:
  DECLARE @mark binary(8) = MIN_ACTIVE_ROWVERSION();
  SELECT ... FROM '' + N''[etl].[Landing] WHERE RowVersion >= @from AND RowVersion < @mark ORDER BY ConversationId, MessageSequence;'' + N''
  EXECUTE '' + N''[etl].[usp_AcknowledgeLanding] @reader = N''''lake'''', @upTo = @mark;'';
        RETURN 0;
    END;

    IF ISNULL(@reader, N'''') = N''''
        SET @errors = @errors + N''@reader must be a name of 1 to 128 characters. '';
    IF @reader = N''usp_PurgeLanding''
        SET @errors = @errors + N''@reader must not be usp_PurgeLanding: its row says what was purged. '';
    IF @forget IS NULL
        SET @errors = @errors + N''@forget must be 0 or 1. '';
    IF @forget = 0 AND @upTo IS NULL
        SET @errors = @errors + N''@upTo must be a mark of Landing.RowVersion; allowed: binary(8), not NULL. '';
    /* Rows below such a mark may not have been committed yet, so nobody can have read them. */
    IF @forget = 0 AND @upTo > MIN_ACTIVE_ROWVERSION()
        SET @errors = @errors + N''@upTo must be at most MIN_ACTIVE_ROWVERSION(): take the mark from it. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50183, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Remember it                                                                              */
    /* ----------------------------------------------------------------------------------------- */
    IF @forget = 1
    BEGIN
        DELETE FROM [etl].[LandingAcknowledged] WHERE Reader = @reader;
        RETURN 0;
    END;

    /* One statement looks and inserts. UPDLOCK, HOLDLOCK: the place of a name that is not there is kept
       until the row is in it, so two first calls of one reader do not both insert (2627). */
    INSERT INTO [etl].[LandingAcknowledged] (Reader, UpTo)
    SELECT @reader, @upTo
    WHERE NOT EXISTS (SELECT 1
                      FROM [etl].[LandingAcknowledged] AS la
                          WITH (UPDLOCK, HOLDLOCK, ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)
                      WHERE la.Reader = @reader);
    IF @@ROWCOUNT = 0
        UPDATE la
        SET UpTo = @upTo, ChangedUtc = SYSUTCDATETIME()
        FROM [etl].[LandingAcknowledged] AS la
            WITH (ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)     /* this reader''s row */
        WHERE la.Reader = @reader;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_CheckHealth.procedure.sql', 4, N'procedure', N'[etl].[usp_CheckHealth]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_CheckHealth]
    @failAt tinyint = 10,               /* 1 to 199: fail for this priority number or a lower one */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Result set: the findings it fails for and those named ''not looked at'', with the columns of usp_Health.
   Returns 0, or raises 50290, which names the first five. Prints what was not looked at: a job''s history
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
        PRINT N''usp_CheckHealth is usp_Health for a job: it fails (50290) when something is wrong, so that a SQL Server
Agent job fails and tells its operator. It changes nothing. What could not be looked at is shown and
printed, whatever its priority number: silence would look like health.
  @failAt  1 to 199, 10 by default: fail for findings of this priority number or a lower one
Example: EXECUTE [etl].[usp_CheckHealth] @failAt = 50;'';
        RETURN 0;
    END;

    IF ISNULL(@failAt, 0) NOT BETWEEN 1 AND 199
        THROW 50291, N''@failAt must be 1 to 199.'', 1;

    /* As the caller, who may see more of the server than a user of one database. */
    EXECUTE AS CALLER;
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    EXECUTE [etl].[usp_Health];
    REVERT;

    DELETE FROM @found WHERE Priority > @failAt AND Finding <> N''not looked at'';
    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice, f.Statement
    FROM @found AS f
    ORDER BY f.FoundId;

    WHILE EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id AND f.Finding = N''not looked at'')
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @message = CONCAT(N''Not looked at: '', f.ObjectName, N''. '', f.Advice)
        FROM @found AS f
        WHERE f.FoundId > @id
          AND f.Finding = N''not looked at''
        ORDER BY f.FoundId;
        PRINT @message;
    END;
    SET @id = 0;
    DELETE FROM @found WHERE Priority > @failAt;

    SET @message = N''Configuration etl: '';
    WHILE @count < 5 AND EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id)
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @count = @count + 1,
            @message = LEFT(CONCAT(@message, f.Finding, N'', '' + f.ObjectName, N'' ('' + f.Figure + N'')'', N''. ''), 1900)
        FROM @found AS f
        WHERE f.FoundId > @id
        ORDER BY f.FoundId;
    END;
    IF @count = 0
        RETURN 0;

    SET @message = REPLACE(CONCAT(@message, N''What to do: EXECUTE [etl].[usp_Health];''), N''%'', N''%%'');   /* F-133 */
    THROW 50290, @message, 1;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_EndLeaked.procedure.sql', 4, N'procedure', N'[etl].[usp_EndLeaked]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_EndLeaked]
    @WhatIf bit = 1,                    /* 1: only show what would be done */
    @most int = 1000,                   /* 1 to 100000: at most so many of each kind in one call */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each one as it is looked at */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: endpoints of this configuration''s services that nobody will end any more.
   - END: DISCONNECTED_INBOUND or ERROR, with nothing unread and nothing that has not landed.
   - GIVE UP: EndOfStream was sent, and the target''s side is gone: what has not landed goes on.
   - END ALONE: a target whose sender''s side is gone (ended WITH CLEANUP), with nothing unread or not landed.
   - END UNREACHABLE: EndOfStream was sent long ago to a service that does not exist; for the same callers.
   - END UNUSED: STARTED_OUTBOUND that no sender finds (one was cancelled in its first use, and its
     client committed all the same). CLOSE: the same, CONVERSING; it is sent EndOfStream.
   - END WITH CLEANUP: CLOSED past its time; done for a caller who is in db_owner (28006).
   - DELETE ROW, FREE SLOT: a row of SessionConversations whose dialog is gone.
   Result set, one row each: Handle uniqueidentifier, ConversationId uniqueidentifier, IsInitiator bit,
   State nvarchar(60), ConversationKey nvarchar(200), Action nvarchar(30), Outcome nvarchar(400).
   Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @leaked TABLE
    (
        LeakedId int NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        ConversationKey nvarchar(200) NULL,
        Action nvarchar(30) NOT NULL,
        Outcome nvarchar(400) NULL
    );
    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @isInitiator bit;
    DECLARE @action nvarchar(30);
    DECLARE @outcome nvarchar(400);

    IF @Help = 1
    BEGIN
        PRINT N''usp_EndLeaked ends conversations of configuration etl that nobody will end any more.
  @most    1 to 100000, 1000 by default: at most so many of each kind in one call
  @reason  why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf  1 (default): only show; 0: do it
  @Debug   1: print each one as it is looked at
Nothing with an unread message or one that has not landed is ended: those are shown with what to call instead.
Example: EXECUTE [etl].[usp_EndLeaked] @reason = N''''a tool began them'''', @WhatIf = 0, @most = 10000;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50130, N''usp_EndLeaked must be called outside a transaction: each endpoint is ended in one of its own.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* what is busy longer is shown as failed, and stays */

    IF ISNULL(@most, 0) NOT BETWEEN 1 AND 100000
        SET @errors = @errors + N''@most must be 1 to 100000. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50132, @errors, 1;
    END;

    INSERT INTO @leaked (LeakedId, Handle, ConversationId, IsInitiator, State, ConversationKey, Action)
    SELECT f.LeakedId, f.Handle, f.ConversationId, f.IsInitiator, f.State, f.ConversationKey, f.Action
    FROM [etl].[ufn_Leaked](@most) AS f;

    /* One by one, each checked again in its own transaction. */
    WHILE EXISTS (SELECT 1 FROM @leaked AS l WHERE l.LeakedId > @id)
    BEGIN
        SELECT TOP (1) @id = l.LeakedId, @handle = l.Handle, @conversationId = l.ConversationId, @isInitiator = l.IsInitiator, @action = l.Action
        FROM @leaked AS l
        WHERE l.LeakedId > @id
        ORDER BY l.LeakedId;

        BEGIN TRY
            EXECUTE AS CALLER;      /* who may be a member of db_owner, as we are not */
            EXECUTE [etl].[usp_EndLeakedOne] @handle = @handle, @conversationId = @conversationId, @isInitiator = @isInitiator,
                @action = @action, @WhatIf = @WhatIf, @outcome = @outcome OUTPUT;
            REVERT;
        END TRY
        BEGIN CATCH
            REVERT;
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            SET @outcome = LEFT(CONCAT(N''failed: '', ERROR_MESSAGE()), 400);
        END CATCH;

        UPDATE @leaked SET Outcome = ISNULL(@outcome, N''done'') WHERE LeakedId = @id;

        IF @Debug = 1
            PRINT CONCAT(@action, N'' '', @handle, N'': '', ISNULL(@outcome, N''done''));
    END;

    INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
    SELECT N''end leaked'', CONCAT(COUNT(*), N'' conversations or rows''), @reason
    FROM @leaked AS l
    WHERE l.Outcome = N''done''
    HAVING COUNT(*) > 0;

    SELECT l.Handle, l.ConversationId, l.IsInitiator, l.State, l.ConversationKey, l.Action, l.Outcome
    FROM @leaked AS l
    ORDER BY l.LeakedId;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_Health.procedure.sql', 4, N'procedure', N'[etl].[usp_Health]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_Health]
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each part */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
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
    SET ROWCOUNT 0;                     /* a caller''s would cut the report (F-331) */
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
        PRINT N''usp_Health says what is wrong with configuration etl, how much of it, and what to do.
It changes nothing. Priority: 1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know, 200 figures.
  @Debug  1: print each part
Column Statement: what a member of etl_operator can run about it. Each such procedure has @Help = 1.
Queue monitors and running readers are shown to callers with VIEW SERVER STATE (from 2022 VIEW SERVER
PERFORMANCE STATE) only; it says so otherwise.
Example: EXECUTE [etl].[usp_Health];'';
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
        (1, N''database, rights, gate, version'', N''INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [etl].[ufn_HealthBroker]() AS f;'', 0),
        (2, N''queues'', N''INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [etl].[ufn_HealthQueues]() AS f;'', 0),
        (3, N''messages on their way'', N''INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [etl].[ufn_HealthPending]() AS f;'', 0),
        (4, N''conversations'', N''INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [etl].[ufn_HealthConversations]() AS f;'', 0),
        (5, N''dead letters, errors, growth'', N''INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement) SELECT f.Priority, f.Finding, f.ObjectName, f.Figure, f.Advice, f.Statement FROM [etl].[ufn_HealthData]() AS f;'', 0),
        (6, N''list of the queues'', N''INSERT INTO #queues (QueueId, QueueName, Messages, MaxReaders, IsActive)
SELECT OBJECT_ID(CONCAT(N''''[etl]'''', N''''.'''', QUOTENAME(q.QueueName)), N''''SQ''''), q.QueueName, q.Messages, q.MaxReaders,
    CASE WHEN q.IsActivationEnabled = 1 AND q.IsReceiveEnabled = 1 THEN 1 ELSE 0 END
FROM [etl].[ufn_Queues]() AS q;'', 0),
        (7, N''pages of the queues'', N''/* No page holds less than one row: far more pages than messages are ghosts or empty (F-501). */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 50, N''''queue out of order'''', q.QueueName, CONCAT(p.Pages, N'''' pages, '''', CONVERT(int, p.FragmentationPercent), N'''' % out of order''''),
    N''''After a long backlog: RECEIVE reads many pages for each message. Putting it in order takes the queue while it works: see docs/runbook/backlog.md.'''',
    CONCAT(N''''EXECUTE [etl].[usp_ReorganizeQueue] @queue = N'''''''''''', REPLACE(q.QueueName, N'''''''''''''''', N''''''''''''''''''''''''), N'''''''''''', @reason = N''''''''usp_Health: queue out of order'''''''', @WhatIf = 0;'''')
FROM [etl].[ufn_QueuePages]() AS p
INNER JOIN #queues AS q ON q.QueueName = p.QueueName
WHERE p.Pages > 1000 AND (p.Pages > 2 * q.Messages OR p.FragmentationPercent > 50);'', 0),
        (8, N''queue monitors'', N''/* A reader that ended without RECEIVE leaves the monitor waiting for one: nothing is started any more, and
   changing the procedure does not help (F-255). */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 1, N''''activation stuck'''', q.QueueName, CONCAT(m.state, N'''', about '''', q.Messages, N'''' messages''''),
    N''''A reader ended without RECEIVE. Mend it, then switch activation off and on.'''',
    CONCAT(N''''EXECUTE [etl].[usp_StartQueue] @queue = N'''''''''''', REPLACE(q.QueueName, N'''''''''''''''', N''''''''''''''''''''''''), N'''''''''''', @restart = 1, @reason = N''''''''usp_Health: activation stuck'''''''', @WhatIf = 0;'''')
FROM #queues AS q
INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = @database
WHERE m.state = N''''NOTIFIED''''
  AND ISNULL(q.Messages, 1) > 0
  AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.queue_id = q.QueueId AND t.database_id = @database);

INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 1, N''''no queue monitor'''', q.QueueName, NULL,
    N''''Activation is on, and nothing watches the queue: the broker of this database is off, or it was just started.'''', NULL
FROM #queues AS q
WHERE q.IsActive = 1
  AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_queue_monitors AS m WHERE m.queue_id = q.QueueId AND m.database_id = @database);'', 1),
        (9, N''readers'', N''/* A reader that is there and has not come to its RECEIVE: blocked, as a rule. Of several the one that was
   started last: the others have come to theirs, or it would not have been started. Both times are the
   server''''s local ones. */
INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT 10, N''''reader without RECEIVE'''', q.QueueName, CONCAT(N''''session '''', r.Session, N'''', '''', DATEDIFF(second, r.StartedAt, GETDATE()), N'''' s''''),
    N''''It was started, and the queue monitor waits for its RECEIVE (state NOTIFIED). Who blocks it: sys.dm_exec_requests, blocking_session_id of that session. If it stays so when that one has ended, switch activation off and on.'''',
    CONCAT(N''''EXECUTE [etl].[usp_StartQueue] @queue = N'''''''''''', REPLACE(q.QueueName, N'''''''''''''''', N''''''''''''''''''''''''), N'''''''''''', @restart = 1, @reason = N''''''''usp_Health: reader without RECEIVE'''''''', @WhatIf = 0;'''')
FROM #queues AS q
INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = @database
CROSS APPLY (SELECT TOP (1) t.spid AS Session, es.login_time AS StartedAt
             FROM sys.dm_broker_activated_tasks AS t
             INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = t.spid
             WHERE t.queue_id = q.QueueId AND t.database_id = @database
             ORDER BY es.login_time DESC) AS r
WHERE m.state = N''''NOTIFIED''''
  AND r.StartedAt < DATEADD(second, -60, GETDATE());

INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
SELECT CASE WHEN r.Running >= q.MaxReaders AND q.Messages > 10000 THEN 50 ELSE 200 END,
    N''''readers running'''', q.QueueName, CONCAT(r.Running, N'''' of '''', q.MaxReaders),
    N''''At most one more is started every five seconds. All at work and the queue grows: more readers help if there are more conversations.'''', NULL
FROM #queues AS q
CROSS APPLY (SELECT COUNT(*) AS Running FROM sys.dm_broker_activated_tasks AS t
             WHERE t.queue_id = q.QueueId AND t.database_id = @database) AS r;'', 1),
        (10, N''Agent jobs'', N''/* An Agent that stands tells nobody: when each job ran last, in the server''''s local time (page sysjobservers). Late
   is an hour, or two of its turns. The health job fails on purpose. */
IF ISNULL(HAS_PERMS_BY_NAME(N''''msdb.dbo.sysjobs'''', N''''OBJECT'''', N''''SELECT''''), 0) = 0
   OR ISNULL(HAS_PERMS_BY_NAME(N''''msdb.dbo.sysjobservers'''', N''''OBJECT'''', N''''SELECT''''), 0) = 0
    INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 150, N''''not looked at'''', N''''Agent jobs'''', NULL, N''''No Agent here, or no right to read msdb, so whether the jobs run cannot be seen. A sysadmin runs this report, or looks at their history.'''', NULL;
ELSE
    INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, CASE WHEN l.IsLate = 1 THEN N''''job does not run'''' ELSE N''''job failed'''' END, j.name, CONCAT(N''''last run '''', ISNULL(CONVERT(nvarchar(19), r.LastRun, 120), N''''never''''), CASE j.enabled WHEN 0 THEN N'''', disabled'''' ELSE N'''''''' END),
        CASE WHEN l.IsLate = 1 THEN N''''SQL Server Agent stands, or the job is disabled or has no schedule. A sysadmin starts it.'''' ELSE N''''A sysadmin looks at its history: the message says why.'''' END, NULL
    FROM (VALUES (N''''retire'''', 60), (N''''health'''', 60), (N''''purge landing'''', 2880), (N''''purge inbox'''', 2880), (N''''purge poison'''', 2880), (N''''purge logs'''', 2880), (N''''purge send ledger'''', 2880)) AS t(Task, LateMinutes)
    INNER JOIN msdb.dbo.sysjobs AS j ON j.name COLLATE DATABASE_DEFAULT = LEFT(CONCAT(N''''Redial etl: '''', t.Task, N'''', '''', DB_NAME()), 128)
    LEFT OUTER JOIN msdb.dbo.sysjobservers AS js ON js.job_id = j.job_id
    CROSS APPLY (SELECT DATEADD(second, js.last_run_time / 10000 * 3600 + js.last_run_time / 100 % 100 * 60 + js.last_run_time % 100,
                            CONVERT(datetime2(0), CONVERT(nvarchar(8), NULLIF(js.last_run_date, 0)))) AS LastRun) AS r
    CROSS APPLY (SELECT CASE WHEN ISNULL(r.LastRun, j.date_created) < DATEADD(minute, -t.LateMinutes, GETDATE()) THEN 1 ELSE 0 END AS IsLate) AS l
    WHERE l.IsLate = 1 OR (js.last_run_outcome = 0 AND r.LastRun IS NOT NULL AND t.Task <> N''''health'''');'', 1);

    /* What only the server knows is asked as the caller: a user of one database is nobody to the server (F-240). */
    EXECUTE AS CALLER;
    IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER STATE''), 0) = 0
       AND ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER PERFORMANCE STATE''), 0) = 0    /* from 2022; NULL before */
        SET @blind = 1;
    REVERT;
    IF @blind = 1
    BEGIN
        DELETE FROM @parts WHERE PartId IN (8, 9);
        INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice)
        VALUES (150, N''not looked at'', N''queue monitors, running readers'', NULL,
            N''The caller has neither VIEW SERVER STATE nor, from 2022 on, VIEW SERVER PERFORMANCE STATE, so whether activation is stuck (state NOTIFIED) cannot be seen. An administrator grants one of them to a login that calls usp_Health. A job that runs as a user of this database, as ours do, never has one.'');
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
            EXECUTE sys.sp_executesql @query, N''@database int'', @database = @database;
            IF @isOfServer = 1
                REVERT;
        END TRY
        BEGIN CATCH
            IF @isOfServer = 1
                REVERT;
            IF XACT_STATE() = -1
                THROW;                  /* in a caller''s transaction that can only be rolled back */
            INSERT INTO #found (Priority, Finding, ObjectName, Figure, Advice)
            VALUES (50, N''not looked at'', @name, CONCAT(N''error '', ERROR_NUMBER()),
                LEFT(CONCAT(N''This part of the report failed: '', ERROR_MESSAGE(), N'' If something of ours is missing, whoever deploys runs redial.sql again.''), 1000));
        END CATCH;
        IF @Debug = 1
            PRINT CONCAT(@name, N'': done.'');
    END;

    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice, f.Statement
    FROM #found AS f
    ORDER BY f.Priority, f.Finding, f.ObjectName;

    SELECT @worst = MIN(f.Priority) FROM #found AS f;
    RETURN ISNULL(@worst, 200);
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_PurgeDeadLetter.procedure.sql', 4, N'procedure', N'[etl].[usp_PurgeDeadLetter]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PurgeDeadLetter]
    @deadLetterId bigint = NULL,        /* this one, replayed or not; else by age: */
    @olderThanDays int = NULL,          /* those of at least this many days */
    @includeUnhandled bit = 0,          /* 1: by age also those nobody has replayed: they are then lost */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show how many would be removed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each batch */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Removes dead letters for good, 1,000 per transaction, each with its own entry in OperatorLog: who,
   how many, which, why. Result set, one row: DeadLetters bigint, FirstId bigint, LastId bigint,
   Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @removed TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @letters TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY);
    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @batch int = 1;
    /* A range of one, or all of them: no OR, which would read the table for one letter. */
    DECLARE @behind bigint = ISNULL(@deadLetterId - 1, -1);     /* letters up to here have been looked at */
    DECLARE @last bigint = ISNULL(@deadLetterId, 9223372036854775807);
    DECLARE @count bigint = 0;
    DECLARE @firstId bigint = NULL;
    DECLARE @lastId bigint = NULL;
    DECLARE @before datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N''usp_PurgeDeadLetter removes dead letters of configuration etl for good.
  @deadLetterId      this one, replayed or not; see [etl].[vw_DeadLetters]
  @olderThanDays     or: those of at least this many days
  @includeUnhandled  1: by age also those nobody has replayed (their messages are then lost)
  @reason            why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf            1 (default): only show; 0: do it
  @Debug             1: print each batch
Example: EXECUTE [etl].[usp_PurgeDeadLetter] @olderThanDays = 90, @reason = N''''retention'''', @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50176, N''usp_PurgeDeadLetter must be called outside a transaction: it commits every 1,000 letters.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    IF (@deadLetterId IS NULL AND @olderThanDays IS NULL) OR (@deadLetterId IS NOT NULL AND @olderThanDays IS NOT NULL)
        SET @errors = @errors + N''One of @deadLetterId and @olderThanDays must be given. '';
    IF @olderThanDays NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N''@olderThanDays must be 0 to 36500. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50175, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        /* Looked up holding nothing. On from the last one, each letter is read once: those that stay are not
           read for every batch anew. */
        DELETE FROM @removed;
        DELETE FROM @letters;
        INSERT INTO @letters (DeadLetterId)
        SELECT TOP (1000) dl.DeadLetterId
        FROM [etl].[DeadLetter] AS dl
            /* READPAST: one that is just being written or replayed is somebody''s; nobody waits. */
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        WHERE dl.DeadLetterId > @behind
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL)
        ORDER BY dl.DeadLetterId;
        SELECT @batch = COUNT(*), @behind = MAX(l.DeadLetterId) FROM @letters AS l;

        BEGIN TRANSACTION;

        DELETE dl
        OUTPUT DELETED.DeadLetterId
        INTO @removed (DeadLetterId)
        FROM [etl].[DeadLetter] AS dl
            /* XLOCK: U is got beside a reader under REPEATABLE READ, and then waits for X. */
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        INNER JOIN @letters AS l ON l.DeadLetterId = dl.DeadLetterId
        WHERE dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL;

        IF EXISTS (SELECT 1 FROM @removed)
        BEGIN
            SELECT @count = @count + COUNT_BIG(*),
                @firstId = CASE WHEN @firstId < MIN(r.DeadLetterId) THEN @firstId ELSE MIN(r.DeadLetterId) END,
                @lastId = CASE WHEN @lastId > MAX(r.DeadLetterId) THEN @lastId ELSE MAX(r.DeadLetterId) END
            FROM @removed AS r;

            INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
            SELECT N''purge dead letters'',
                CONCAT(COUNT_BIG(*), N'' from '', MIN(r.DeadLetterId), N'' to '', MAX(r.DeadLetterId),
                    CASE WHEN @includeUnhandled = 1 THEN N'', unhandled ones too'' ELSE N'''' END), @reason
            FROM @removed AS r;
        END;

        COMMIT TRANSACTION;

        IF @Debug = 1
            PRINT CONCAT(N''Looked at: '', @batch, N'', removed so far: '', @count);
    END;

    IF @WhatIf = 1
    BEGIN
        SELECT @count = COUNT_BIG(*), @firstId = MIN(dl.DeadLetterId), @lastId = MAX(dl.DeadLetterId)
        FROM [etl].[DeadLetter] AS dl
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)  /* as above */
        WHERE dl.DeadLetterId > @behind
          AND dl.DeadLetterId <= @last
          AND dl.AddedUtc <= ISNULL(@before, dl.AddedUtc)
          AND (dl.HandledUtc IS NOT NULL OR @includeUnhandled = 1 OR @deadLetterId IS NOT NULL);
    END;

    SELECT @count AS DeadLetters, @firstId AS FirstId, @lastId AS LastId,
        CASE WHEN @WhatIf = 1 THEN N''would be removed'' ELSE N''removed'' END AS Outcome;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_PurgeInbox.procedure.sql', 4, N'procedure', N'[etl].[usp_PurgeInbox]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PurgeInbox]
    @olderThanDays int = NULL,          /* 7 to 36500; NULL: exactly_once.keep_days = 7 */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N''retention'',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Forgets the ids of messages that landed long ago; a repeat of a forgotten id lands again.
   Oldest first, a small transaction after the other; waits for nobody (READPAST), so it is in no circle
   of waits. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;

    IF @Help = 1
    BEGIN
        PRINT N''usp_PurgeInbox: Forgets the ids of messages that landed long ago; a repeat of a forgotten id lands again.
  @olderThanDays  age in days, 7 to 36500; default: exactly_once.keep_days = 7
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''''retention'''' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [etl].[usp_PurgeInbox] @olderThanDays = 90, @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N''usp_PurgeInbox must be called outside a transaction: it deletes in small ones.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 7);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 7 AND 36500
        SET @errors = @errors + N''@olderThanDays must be 7 to 36500. '';
    /* 5,000 locks of one statement on one table make the server try for a lock on all of it (F-166). */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N''@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50181, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    /* The ids are looked up holding nothing and deleted by their key (F-165). */
    DECLARE @ids TABLE (MessageId uniqueidentifier NOT NULL PRIMARY KEY);

    IF @WhatIf = 1
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[Inbox] AS ib
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Inbox_ReceivedUtc]), FORCESEEK)   /* waits for nobody */
        WHERE ib.ReceivedUtc < @before;

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE FROM @ids;
        INSERT INTO @ids (MessageId)
        SELECT TOP (@batch) ib.MessageId
        FROM [etl].[Inbox] AS ib
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; the index holds the old ones together. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Inbox_ReceivedUtc]), FORCESEEK)
        WHERE ib.ReceivedUtc < @before
        ORDER BY ib.ReceivedUtc;

        DELETE ib
        FROM [etl].[Inbox] AS ib
            /* READPAST: a repeat of it is just being counted. XLOCK: no lock that is got and then has to
               wait for more. Whatever the plan, it waits for nobody. */
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        INNER JOIN @ids AS i ON i.MessageId = ib.MessageId;

        SET @found = @@ROWCOUNT;
        SET @rows = @rows + @found;
        IF @Debug = 1
            PRINT CONCAT(@found, N'' rows deleted, '', @rows, N'' in all'');
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N''usp_PurgeInbox'', CONCAT(@rows, N'' ids older than '', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_PurgeLanding.procedure.sql', 4, N'procedure', N'[etl].[usp_PurgeLanding]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PurgeLanding]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: retention.landing_days = 14 */
    @upTo binary(8) = NULL,             /* NULL: what every reader has acknowledged */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N''retention'',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Removes landed rows that are old enough and acknowledged by every reader (usp_AcknowledgeLanding).
   Oldest first, a small transaction after the other; waits for nobody (READPAST), so it is in no circle
   of waits. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Below binary(8), Affected bigint. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;

    IF @Help = 1
    BEGIN
        PRINT N''usp_PurgeLanding: Removes landed rows that are old enough and acknowledged by every reader (usp_AcknowledgeLanding).
  @olderThanDays  age in days, 0 to 36500; default: retention.landing_days = 14
  @upTo           only rows with RowVersion < @upTo; default: what every reader has acknowledged.
                  With readers it can only lower that mark; without any it must be given.
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''''retention'''' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [etl].[usp_PurgeLanding] @olderThanDays = 90, @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N''usp_PurgeLanding must be called outside a transaction: it deletes in small ones.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 14);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N''@olderThanDays must be 0 to 36500. '';
    /* 5,000 locks of one statement on one table make the server try for a lock on all of it (F-166). */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N''@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';

    DECLARE @below binary(8);
    DECLARE @active binary(8) = MIN_ACTIVE_ROWVERSION();
    SELECT TOP (1) @below = la.UpTo
    FROM [etl].[LandingAcknowledged] AS la
    WHERE la.Reader <> N''usp_PurgeLanding''      /* its own row, see below */
    ORDER BY la.UpTo;
    IF @below IS NULL OR @upTo < @below
        SET @below = @upTo;
    IF @below IS NULL
        SET @errors = @errors + N''@upTo must be given: no reader has acknowledged anything (usp_AcknowledgeLanding). '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50180, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    DECLARE @from binary(8) = 0x0000000000000000;
    DECLARE @deleted int = 0;
    DECLARE @gone binary(8);
    DECLARE @stop bit = 0;
    DECLARE @keys TABLE (RowVersion binary(8) NOT NULL PRIMARY KEY, LandedUtc datetime2(3) NOT NULL);

    /* What is not committed yet is behind this, and is young. */
    IF @below > @active
        SET @below = @active;
    IF @Debug = 1
        PRINT CONCAT(N''Older than '', CONVERT(nvarchar(30), @before, 126), N'', RowVersion below '', CONVERT(nvarchar(20), @below, 1));

    /* From the old end, slice by slice; inserts are at the other. The first slice without an old row ends it:
       one row alone may be dated by a clock that was ahead (and what is dated ahead still says nothing). */
    WHILE @found > 0
    BEGIN
        DELETE FROM @keys;
        INSERT INTO @keys (RowVersion, LandedUtc)
        SELECT TOP (@batch) l.RowVersion, l.LandedUtc
        FROM [etl].[Landing] AS l
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; along the clustered key. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)
        WHERE l.RowVersion > @from AND l.RowVersion < @below
        ORDER BY l.RowVersion;

        SELECT @found = ISNULL(SUM(CASE WHEN k.LandedUtc < @before OR k.LandedUtc > SYSUTCDATETIME() THEN 1 ELSE 0 END), 0),
            @from = ISNULL(MAX(k.RowVersion), @from), @deleted = 0
        FROM @keys AS k;
        SELECT @gone = CONVERT(binary(8), CONVERT(bigint, MAX(k.RowVersion)) + 1) FROM @keys AS k WHERE k.LandedUtc < @before;

        IF @WhatIf = 1
            SELECT @rows = @rows + COUNT_BIG(*) FROM @keys AS k WHERE k.LandedUtc < @before;
        ELSE IF @gone IS NOT NULL
        BEGIN
            /* What goes is told before it goes, beside a look at the readers. A reader that comes writes its
               row first and then reads this one by a lock: so one of the two sees the other. */
            SET LOCK_TIMEOUT 1000;      /* nobody waits long for the purge''s row */
            BEGIN TRY
                BEGIN TRANSACTION;
                UPDATE la
                SET UpTo = CASE WHEN la.UpTo < @gone THEN @gone ELSE la.UpTo END, ChangedUtc = SYSUTCDATETIME()
                FROM [etl].[LandingAcknowledged] AS la
                    WITH (ROWLOCK, INDEX ([PK_LandingAcknowledged]), FORCESEEK)     /* this one row */
                WHERE la.Reader = N''usp_PurgeLanding'';
                IF @@ROWCOUNT = 0
                    INSERT INTO [etl].[LandingAcknowledged] (Reader, UpTo) VALUES (N''usp_PurgeLanding'', @gone);
                IF EXISTS (SELECT 1 FROM [etl].[LandingAcknowledged] AS la
                           WHERE la.UpTo < @gone AND la.Reader <> N''usp_PurgeLanding'')
                    SET @stop = 1;      /* came after the mark above was taken, or went back */
                IF @stop = 1
                    ROLLBACK TRANSACTION;
                ELSE
                    COMMIT TRANSACTION;
            END TRY
            BEGIN CATCH
                IF XACT_STATE() <> 0
                    ROLLBACK TRANSACTION;
                IF ERROR_NUMBER() <> 1222
                    THROW;
                SET @stop = 1;          /* a reader is just being written: the next run goes on */
            END CATCH;
            SET LOCK_TIMEOUT -1;
            IF @stop = 1
                BREAK;

            DELETE l
            FROM [etl].[Landing] AS l
                /* XLOCK: U is got beside a reader under REPEATABLE READ, and then waits for X. */
                WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)
            INNER JOIN @keys AS k ON k.RowVersion = l.RowVersion
            WHERE k.LandedUtc < @before;
            SET @deleted = @@ROWCOUNT;
            SET @rows = @rows + @deleted;
        END;
        IF @Debug = 1
            PRINT CONCAT(@deleted, N'' rows deleted, '', @rows, N'' in all'');
    END;
    IF @Debug = 1 AND @stop = 1
        PRINT N''Ended early: a reader has come, or is just being written.'';

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N''usp_PurgeLanding'', CONCAT(@rows, N'' rows older than '', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @below AS Below, @rows AS Affected;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_PurgeLogs.procedure.sql', 4, N'procedure', N'[etl].[usp_PurgeLogs]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PurgeLogs]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: 30 */
    @reason nvarchar(400) = N''retention'',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show how many would be removed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each batch */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Removes old rows of ConversationLog (dialogs that have ended or are gone) and ErrorLog, and what operators did more than 400 days ago, 1,000 per transaction.
   Result set, one row a table: TableName nvarchar(128), LogRows bigint, Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @days int = ISNULL(@olderThanDays, 30);
    DECLARE @before datetime2(3);
    DECLARE @batch int = 1;
    DECLARE @from uniqueidentifier = ''00000000-0000-0000-0000-000000000000'';
    DECLARE @to uniqueidentifier;
    DECLARE @oldConversationLog TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY);
    DECLARE @oldErrorLog TABLE (ErrorLogId bigint NOT NULL PRIMARY KEY);
    DECLARE @oldOperatorLog TABLE (OperatorLogId bigint NOT NULL PRIMARY KEY);
    DECLARE @conversations bigint = 0;
    DECLARE @errorRows bigint = 0;
    DECLARE @operatorRows bigint = 0;
    DECLARE @longAgo datetime2(3);      /* of what operators did more than a year is kept */

    IF @Help = 1
    BEGIN
        PRINT N''usp_PurgeLogs removes old rows of ConversationLog (ended dialogs only), ErrorLog, and OperatorLog (there
of more than 400 days at least).
  @olderThanDays  0 to 36500 days; 30 by default
  @reason         why; ''''retention'''' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show; 0: do it
  @Debug          1: print each batch
Example: EXECUTE [etl].[usp_PurgeLogs] @olderThanDays = 90, @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50188, N''usp_PurgeLogs must be called outside a transaction: it commits every 1,000 rows.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    IF @WhatIf IS NULL OR ISNULL(@days, -1) NOT BETWEEN 0 AND 36500 OR (@WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL)
        THROW 50187, N''@olderThanDays must be 0 to 36500 (NULL only where [retention].log_days is above 0). @WhatIf must be 0 or 1. @reason must say why.'', 1;

    SET @before = DATEADD(day, -@days, SYSUTCDATETIME());
    SET @longAgo = DATEADD(day, -CASE WHEN @days > 400 THEN @days ELSE 400 END, SYSUTCDATETIME());

    IF @WhatIf = 1
    BEGIN
        SELECT @conversations = COUNT_BIG(*)
        FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)   /* a figure to look at; waits for nobody */
        WHERE (cl.EndedUtc < @before
               OR (cl.EndedUtc IS NULL AND cl.BegunUtc < @before      /* ended by hand, or still open */
                   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = cl.Handle)));
        SELECT @errorRows = COUNT_BIG(*) FROM [etl].[ErrorLog] AS el WITH (NOLOCK) WHERE el.AddedUtc < @before;
        SELECT @operatorRows = COUNT_BIG(*) FROM [etl].[OperatorLog] AS ol WITH (NOLOCK) WHERE ol.AddedUtc < @longAgo;
    END;

    /* Slice after slice of the clustered key, each row once: nothing is ordered by EndedUtc. What is old is
       looked up holding nothing, looked at again under its lock, and deleted by its key: the rows that stay
       are not locked. Here and below:
       XLOCK, READPAST: a row somebody writes, or reads under REPEATABLE READ, is passed over. U, the lock
       of a DELETE, is got beside such a reader and then waits for X: the purge would be in circles (F-127). */
    WHILE @WhatIf = 0 AND @from IS NOT NULL
    BEGIN
        SET @to = NULL;                 /* stays NULL behind the last full slice */
        SELECT @to = cl.Handle
        FROM [etl].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([PK_ConversationLog]))     /* only a border */
        WHERE cl.Handle > @from
        ORDER BY cl.Handle
        OFFSET 999 ROWS FETCH NEXT 1 ROWS ONLY;

        DELETE FROM @oldConversationLog;
        INSERT INTO @oldConversationLog (Handle)
        SELECT cl.Handle
        FROM [etl].[ConversationLog] AS cl
            WITH (NOLOCK, INDEX ([PK_ConversationLog]))     /* only where to look */
        WHERE cl.Handle > @from
          AND cl.Handle <= ISNULL(@to, ''FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'')
          AND (cl.EndedUtc < @before
               OR (cl.EndedUtc IS NULL AND cl.BegunUtc < @before      /* ended by hand, or still open */
                   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = cl.Handle)));

        DELETE cl
        FROM [etl].[ConversationLog] AS cl
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)
        INNER JOIN @oldConversationLog AS h ON h.Handle = cl.Handle
        WHERE (cl.EndedUtc < @before
               OR (cl.EndedUtc IS NULL AND cl.BegunUtc < @before      /* ended by hand, or still open */
                   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = cl.Handle)));
        SET @batch = @@ROWCOUNT;
        SET @conversations = @conversations + @batch;
        SET @from = @to;
        IF @Debug = 1
            PRINT CONCAT(N''ConversationLog: '', @batch, N'' rows'');
    END;

    SET @batch = 1;
    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        DELETE FROM @oldErrorLog;
        INSERT INTO @oldErrorLog (ErrorLogId)
        SELECT TOP (1000) el.ErrorLogId
        FROM [etl].[ErrorLog] AS el WITH (NOLOCK)      /* only where to look; a date never changes */
        WHERE el.AddedUtc < @before
        ORDER BY el.ErrorLogId;

        DELETE el
        FROM [etl].[ErrorLog] AS el WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)   /* as above */
        INNER JOIN @oldErrorLog AS k ON k.ErrorLogId = el.ErrorLogId;
        SET @batch = @@ROWCOUNT;
        SET @errorRows = @errorRows + @batch;
        IF @Debug = 1
            PRINT CONCAT(N''ErrorLog: '', @batch, N'' rows'');
    END;

    SET @batch = 1;
    WHILE @WhatIf = 0 AND @batch > 0
    BEGIN
        DELETE FROM @oldOperatorLog;
        INSERT INTO @oldOperatorLog (OperatorLogId)
        SELECT TOP (1000) ol.OperatorLogId
        FROM [etl].[OperatorLog] AS ol WITH (NOLOCK)      /* only where to look; a date never changes */
        WHERE ol.AddedUtc < @longAgo
        ORDER BY ol.OperatorLogId;

        DELETE ol
        FROM [etl].[OperatorLog] AS ol WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)   /* as above */
        INNER JOIN @oldOperatorLog AS k ON k.OperatorLogId = ol.OperatorLogId;
        SET @batch = @@ROWCOUNT;
        SET @operatorRows = @operatorRows + @batch;
        IF @Debug = 1
            PRINT CONCAT(N''OperatorLog: '', @batch, N'' rows'');
    END;

    IF @WhatIf = 0 AND @conversations + @errorRows + @operatorRows > 0
    BEGIN
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N''purge logs'', CONCAT(@conversations, N'' conversations, '', @errorRows, N'' errors, '', @operatorRows, N'' actions older than '', @days, N'' days''), @reason);
    END;

    SELECT t.TableName, t.LogRows, CASE WHEN @WhatIf = 1 THEN N''would be removed'' ELSE N''removed'' END AS Outcome
    FROM (VALUES (N''ConversationLog'', @conversations), (N''ErrorLog'', @errorRows), (N''OperatorLog'', @operatorRows)) AS t(TableName, LogRows);

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_PurgePoison.procedure.sql', 4, N'procedure', N'[etl].[usp_PurgePoison]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PurgePoison]
    @olderThanDays int = NULL,          /* 0 to 36500; NULL: retention.log_days = 30 */
    @batch int = 1000,                  /* rows of one transaction */
    @reason nvarchar(400) = N''retention'',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Forgets failed attempts (PoisonAttempt) of conversations that are gone: one that ends in order takes its own along.
   Oldest first, a small transaction after the other; waits for nobody (READPAST), so it is in no circle
   of waits. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;

    IF @Help = 1
    BEGIN
        PRINT N''usp_PurgePoison: Forgets failed attempts (PoisonAttempt) of conversations that are gone: one that ends in order takes its own along.
  @olderThanDays  age in days, 0 to 36500; default: retention.log_days = 30
  @batch          rows of one transaction, 1 to 4900; default 1000
  @reason         why; ''''retention'''' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [etl].[usp_PurgePoison] @olderThanDays = 90, @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N''usp_PurgePoison must be called outside a transaction: it deletes in small ones.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 30);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N''@olderThanDays must be 0 to 36500. '';
    /* 5,000 locks of one statement on one table make the server try for a lock on all of it (F-166). */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N''@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50184, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    IF @WhatIf = 1
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[PoisonAttempt] AS pa
            WITH (READPAST, READCOMMITTEDLOCK)      /* a row a receiver is using is of a live conversation */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE TOP (@batch) pa
        FROM [etl].[PoisonAttempt] AS pa
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)   /* as above; XLOCK: at once, or passed over */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

        SET @found = @@ROWCOUNT;
        SET @rows = @rows + @found;
        IF @Debug = 1
            PRINT CONCAT(@found, N'' rows deleted, '', @rows, N'' in all'');
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N''usp_PurgePoison'', CONCAT(@rows, N'' rows older than '', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_PurgeSendLedger.procedure.sql', 4, N'procedure', N'[etl].[usp_PurgeSendLedger]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_PurgeSendLedger]
    @olderThanDays int = NULL,          /* 1 to 36500; NULL: retention.log_days = 30 */
    @batch int = 4000,                  /* rows of one transaction */
    @reason nvarchar(400) = N''retention'',   /* why: kept in OperatorLog */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,                     /* 1: print each step */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Forgets which pieces of jobs were sent long ago; a forgotten piece that is run again is sent again.
   Oldest first, a small transaction after the other; waits for nobody (READPAST), so it is in no circle
   of waits. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;

    IF @Help = 1
    BEGIN
        PRINT N''usp_PurgeSendLedger: Forgets which pieces of jobs were sent long ago; a forgotten piece that is run again is sent again.
  @olderThanDays  age in days, 1 to 36500; default: retention.log_days = 30
  @batch          rows of one transaction, 1 to 4900; default 4000
  @reason         why; ''''retention'''' by default; kept with your login in OperatorLog
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example: EXECUTE [etl].[usp_PurgeSendLedger] @olderThanDays = 90, @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50182, N''usp_PurgeSendLedger must be called outside a transaction: it deletes in small ones.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    SET @olderThanDays = ISNULL(@olderThanDays, 30);
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 1 AND 36500
        SET @errors = @errors + N''@olderThanDays must be 1 to 36500. '';
    /* 5,000 locks of one statement on one table make the server try for a lock on all of it (F-166). */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N''@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50244, @errors, 1;
    END;

    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    DECLARE @pieces TABLE
    (
        JobId nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        BatchId bigint NOT NULL,
        PartitionId int NOT NULL,
        Chunk int NOT NULL,
        PRIMARY KEY CLUSTERED (JobId, BatchId, PartitionId, Chunk)
    );

    IF @WhatIf = 1
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[SendLedger] AS sl
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)  /* waits for nobody */
        WHERE sl.SentUtc < @before;

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE FROM @pieces;
        INSERT INTO @pieces (JobId, BatchId, PartitionId, Chunk)
        SELECT TOP (@batch) sl.JobId, sl.BatchId, sl.PartitionId, sl.Chunk
        FROM [etl].[SendLedger] AS sl
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; the index holds the old ones together. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_SendLedger_SentUtc]), FORCESEEK)
        WHERE sl.SentUtc < @before
        ORDER BY sl.SentUtc;

        DELETE sl
        FROM [etl].[SendLedger] AS sl
            /* XLOCK, READPAST: a row somebody compares with just now stays; no lock that is got and then
               has to wait for more, so the purge is in no circle with a sender. */
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        INNER JOIN @pieces AS p
            ON p.JobId = sl.JobId AND p.BatchId = sl.BatchId AND p.PartitionId = sl.PartitionId AND p.Chunk = sl.Chunk;

        SET @found = @@ROWCOUNT;
        SET @rows = @rows + @found;
        IF @Debug = 1
            PRINT CONCAT(@found, N'' rows deleted, '', @rows, N'' in all'');
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        VALUES (N''usp_PurgeSendLedger'', CONCAT(@rows, N'' rows older than '', CONVERT(nvarchar(30), @before, 126)), @reason);

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_ReorganizeQueue.procedure.sql', 4, N'procedure', N'[etl].[usp_ReorganizeQueue]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ReorganizeQueue]
    @queue nvarchar(128) = NULL,        /* NULL: both */
    @rebuild bit = 0,                   /* 1: REBUILD instead of REORGANIZE: all pages anew, in one transaction */
    @waitSeconds int = 30,              /* 0 to 3600: how long to wait for readers that are at work */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each try */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: puts the pages of a queue in order after a backlog. A long backlog leaves them half empty and
   full of ghosts, and RECEIVE then reads many for each message. Both forms are offline: the queue is locked
   until they are through, and who sends or receives waits (F-500). REORGANIZE keeps what it has done when it
   is stopped; REBUILD does not.
   ALTER QUEUE waits for every open RECEIVE, and who sends or receives waits behind it (F-130): so it waits
   two seconds at a time and lets them pass in between.
   Result set, one row a queue: QueueName nvarchar(128), Figure nvarchar(200), Outcome nvarchar(400).
   Returns 0, or 1: not all is done; call again. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @queues TABLE (QueueName nvarchar(128) NOT NULL PRIMARY KEY, Figure nvarchar(200) NULL, IsDue bit NOT NULL, Outcome nvarchar(400) NULL);
    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @name nvarchar(128);
    DECLARE @deadline datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N''usp_ReorganizeQueue puts the pages of queues of configuration etl in order.
  @queue        its name; NULL: both queues of the configuration that are in this database
  @rebuild      1: REBUILD instead of REORGANIZE: all pages anew, in one transaction, with room for them in the log
  @waitSeconds  0 to 3600, 30 by default: how long to wait for readers that are at work
  @reason       why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf       1 (default): only show; 0: do it
  @Debug        1: print each try
Example: EXECUTE [etl].[usp_ReorganizeQueue] @reason = N''''disk is free again'''', @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50281, N''usp_ReorganizeQueue must be called outside a transaction: altering a queue keeps its senders waiting until the end of one.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* see above */

    IF @queue IS NOT NULL AND @queue NOT IN (N''InitiatorQueue'', N''TargetQueue'')
        SET @errors = @errors + N''@queue must be InitiatorQueue or TargetQueue, or NULL for both. '';
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N''@waitSeconds must be 0 to 3600. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50280, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    INSERT INTO @queues (QueueName, Figure, IsDue)
    SELECT q.QueueName, CONCAT(N''about '', q.Messages, N'' messages''), 1
    FROM [etl].[ufn_Queues]() AS q
    WHERE q.QueueName = ISNULL(@queue, q.QueueName);

    /* A level below, so that a right that is missing is told and stops nothing. */
    CREATE TABLE #pages (QueueName nvarchar(128) COLLATE DATABASE_DEFAULT NOT NULL, Pages bigint NULL, FragmentationPercent float NULL);
    BEGIN TRY
        EXECUTE sys.sp_executesql N''INSERT INTO #pages (QueueName, Pages, FragmentationPercent) SELECT p.QueueName, p.Pages, p.FragmentationPercent FROM [etl].[ufn_QueuePages]() AS p;'';
        UPDATE q
        SET Figure = CONCAT(q.Figure, N'', '', p.Pages, N'' pages, '', CONVERT(int, p.FragmentationPercent), N'' % out of order'')
        FROM @queues AS q
        INNER JOIN #pages AS p ON p.QueueName = q.QueueName;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        UPDATE @queues SET Figure = LEFT(CONCAT(Figure, N'', pages not seen: '', ERROR_MESSAGE()), 200);
    END CATCH;

    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL)
    BEGIN
        SELECT TOP (1) @name = q.QueueName FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL ORDER BY q.QueueName;
        BEGIN TRY
            IF @name = N''InitiatorQueue''
            BEGIN
                /* As text: tools that read T-SQL, Microsoft''s own parser among them, do not know these two. */
                IF @rebuild = 1
                    EXECUTE sys.sp_executesql N''ALTER QUEUE [etl].[InitiatorQueue] REBUILD;'';
                ELSE
                    EXECUTE sys.sp_executesql N''ALTER QUEUE [etl].[InitiatorQueue] REORGANIZE;'';
            END;
            IF @name = N''TargetQueue''
            BEGIN
                /* As text: tools that read T-SQL, Microsoft''s own parser among them, do not know these two. */
                IF @rebuild = 1
                    EXECUTE sys.sp_executesql N''ALTER QUEUE [etl].[TargetQueue] REBUILD;'';
                ELSE
                    EXECUTE sys.sp_executesql N''ALTER QUEUE [etl].[TargetQueue] REORGANIZE;'';
            END;
            UPDATE @queues SET Outcome = N''done'' WHERE QueueName = @name;
            INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason) VALUES (N''reorganize queue'', @name, @reason);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @Debug = 1
                PRINT CONCAT(@name, N'': '', ERROR_MESSAGE());
            IF ERROR_NUMBER() <> 1222 OR SYSUTCDATETIME() >= @deadline
                UPDATE @queues
                SET Outcome = LEFT(CASE WHEN ERROR_NUMBER() = 1222 THEN N''not done: readers or senders were at work on it all the time; call again''
                                        ELSE CONCAT(N''failed: '', ERROR_MESSAGE()) END, 400)
                WHERE QueueName = @name;
            ELSE
                WAITFOR DELAY ''00:00:00.500'';
        END CATCH;
    END;

    SELECT q.QueueName, q.Figure, ISNULL(q.Outcome, CASE WHEN q.IsDue = 0 THEN N''nothing to do'' ELSE N''would be done'' END) AS Outcome
    FROM @queues AS q
    ORDER BY q.QueueName;

    RETURN CASE WHEN EXISTS (SELECT 1 FROM @queues AS q WHERE q.Outcome <> N''done'') THEN 1 ELSE 0 END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_ReplayDeadLetter.procedure.sql', 4, N'procedure', N'[etl].[usp_ReplayDeadLetter]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_ReplayDeadLetter]
    @deadLetterId bigint = NULL,        /* the first or only one, from vw_DeadLetters */
    @toDeadLetterId bigint = NULL,      /* the last one of a range; NULL: only the first */
    @reason nvarchar(400) = NULL,       /* why: kept with each letter and in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show what would be replayed */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Sends dead letters again, byte by byte as they were (a message id, a key''s number and the sender in its
   envelope are kept): those of one conversation in sequence order, on one private dialog that is closed at
   once, in one transaction that marks and sends them. So none is replayed twice and none is marked and not
   sent. Where that fails they are tried one by one: a bad letter stays, is named, and stops no other. At
   most 1,000 a call: more locks than 5,000 on one table would become a lock on all of it.
   Result set: DeadLetterId bigint, ConversationHandle uniqueidentifier, MessageSequence bigint,
   MessageType nvarchar(256), BodyBytes bigint, Outcome nvarchar(200). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @replayed bigint = 0;
    DECLARE @lastId bigint = ISNULL(@toDeadLetterId, @deadLetterId);

    IF @Help = 1
    BEGIN
        PRINT N''usp_ReplayDeadLetter sends dead letters of configuration etl again, as they were.
  @deadLetterId    the first or only one: see [etl].[vw_DeadLetters]
  @toDeadLetterId  the last one of a range (at most 1,000 a call)
  @reason          why; required with @WhatIf = 0; kept with each letter, with your login
  @WhatIf          1 (default): only show; 0: do it
  @Debug           1: print each step
Example: EXECUTE [etl].[usp_ReplayDeadLetter] @deadLetterId = 7, @toDeadLetterId = 12, @reason = N''''target mended'''', @WhatIf = 0;
A letter whose cause is not mended comes back as a new dead letter.'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50171, N''usp_ReplayDeadLetter must be called outside a transaction: it sends in transactions of its own.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    IF @deadLetterId IS NULL
        SET @errors = @errors + N''@deadLetterId must name a dead letter. '';
    IF @lastId < @deadLetterId OR @lastId - @deadLetterId > 999
        SET @errors = @errors + N''@toDeadLetterId must be @deadLetterId to @deadLetterId + 999. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50170, @errors, 1;
    END;

    DECLARE @letters TABLE
    (
        Position int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        DeadLetterId bigint NOT NULL UNIQUE,
        ConversationHandle uniqueidentifier NOT NULL,
        Unit int NOT NULL,              /* what goes in one transaction */
        Outcome nvarchar(200) NULL
    );
    DECLARE @marked TABLE (DeadLetterId bigint NOT NULL PRIMARY KEY, MessageSequence bigint NOT NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL);
    DECLARE @unit int = 0;
    DECLARE @outcome nvarchar(200);
    DECLARE @firstHandle uniqueidentifier;
    DECLARE @newHandle uniqueidentifier;
    DECLARE @messages [etl].[ReceivedBatch];
    DECLARE @sent bigint;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Which, conversation by conversation, each in its own order                               */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @letters (DeadLetterId, ConversationHandle, Unit, Outcome)
    SELECT o.DeadLetterId, o.ConversationHandle, DENSE_RANK() OVER (ORDER BY o.FirstId), o.Outcome
    FROM
    (
        SELECT dl.DeadLetterId, dl.ConversationHandle, dl.MessageSequence,
            MIN(dl.DeadLetterId) OVER (PARTITION BY dl.ConversationHandle) AS FirstId,
            CONVERT(nvarchar(200), NULL) AS Outcome
        FROM [etl].[DeadLetter] AS dl
            /* READPAST: a letter that is just being written or replayed is somebody''s; activation never
               waits for us, and we not for it. FORCESEEK: the range only. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
        WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
          AND dl.HandledUtc IS NULL
          AND dl.MessageType IN (N''//redial/etl/event'')
    ) AS o
    ORDER BY o.FirstId, o.MessageSequence, o.DeadLetterId;

    WHILE @WhatIf = 0
    BEGIN
        SELECT TOP (1) @unit = l.Unit, @firstHandle = l.ConversationHandle
        FROM @letters AS l
        WHERE l.Unit >= @unit AND l.Outcome IS NULL
        ORDER BY l.Unit;
        IF @@ROWCOUNT = 0
            BREAK;

        BEGIN TRY
            DELETE FROM @marked;
            DELETE FROM @messages;
            SET @outcome = NULL;
            BEGIN TRANSACTION;

            /* ------------------------------------------------------------------------------------ */
            /* 2  The gate. HOLDLOCK keeps it open until we commit: there is no R a drain could meet   */
            /* ------------------------------------------------------------------------------------ */
            IF EXISTS (SELECT 1 FROM [etl].[Gate] AS g
                           WITH (HOLDLOCK, ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)
                       WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                THROW 50172, N''The gate is closed: this configuration is being drained. Next: usp_OpenGate, then call again.'', 1;

            /* ------------------------------------------------------------------------------------ */
            /* 3  Mark first: the mark is the right to send, and two operators cannot both have it     */
            /* ------------------------------------------------------------------------------------ */
            UPDATE dl
            SET HandledUtc = SYSUTCDATETIME(),
                HandledBy = ORIGINAL_LOGIN(),
                Handling = N''replayed'',
                HandlingReason = @reason
            OUTPUT INSERTED.DeadLetterId, INSERTED.MessageSequence, INSERTED.MessageType, INSERTED.Body
            INTO @marked (DeadLetterId, MessageSequence, MessageType, Body)
            FROM [etl].[DeadLetter] AS dl
                /* READPAST: as above. ROWLOCK, FORCESEEK: the range only. */
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)
            WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
              AND dl.HandledUtc IS NULL
              AND dl.DeadLetterId IN (SELECT l.DeadLetterId FROM @letters AS l WHERE l.Unit = @unit AND l.Outcome IS NULL);

            INSERT INTO @messages (MessageSequence, MessageType, Body)
            SELECT m.MessageSequence, m.MessageType, m.Body
            FROM @marked AS m
            ORDER BY m.MessageSequence, m.DeadLetterId;
            SET @sent = @@ROWCOUNT;

            IF @sent > 0
            BEGIN
                EXECUTE [etl].[usp_SendPrivately] @messages = @messages, @resendOf = @firstHandle,
                    @reason = N''usp_ReplayDeadLetter'', @handle = @newHandle OUTPUT;

                INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
                SELECT N''replay dead letters'', CONCAT(@sent, N'' from '', MIN(m.DeadLetterId), N'' to '', MAX(m.DeadLetterId), N'', on conversation '', @newHandle), @reason
                FROM @marked AS m;
            END;

            COMMIT TRANSACTION;
            SET @replayed = @replayed + @sent;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() = 50172 AND @replayed = 0
                THROW;
            SET @outcome = LEFT(CONCAT(N''kept: failed with '', ERROR_NUMBER(), CASE WHEN ERROR_NUMBER() = 8429 THEN N'' (the target refuses it)'' END, N'': '', ERROR_MESSAGE()), 200);
        END CATCH;

        /* Of several one may be bad: one by one then, behind all others. */
        IF @outcome IS NOT NULL AND (SELECT COUNT(*) FROM @letters AS l WHERE l.Unit = @unit AND l.Outcome IS NULL) > 1
            UPDATE @letters SET Unit = 1000 + Position WHERE Unit = @unit AND Outcome IS NULL;
        ELSE
            UPDATE l
            SET Outcome = ISNULL(@outcome, CASE WHEN m.DeadLetterId IS NULL THEN N''kept: it is in use now; call again'' ELSE N''replayed'' END)
            FROM @letters AS l
            LEFT OUTER JOIN @marked AS m ON m.DeadLetterId = l.DeadLetterId
            WHERE l.Unit = @unit AND l.Outcome IS NULL;

        IF @Debug = 1
            PRINT CONCAT(N''Replayed so far: '', @replayed, N''; '', @outcome);
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  What became of each                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT dl.DeadLetterId, dl.ConversationHandle, dl.MessageSequence, dl.MessageType, DATALENGTH(dl.Body) AS BodyBytes,
        CASE WHEN l.Outcome IS NOT NULL THEN l.Outcome
             WHEN dl.HandledUtc IS NOT NULL
                 THEN CONCAT(N''kept: '', dl.Handling, N'' at '', CONVERT(nvarchar(19), dl.HandledUtc, 120), N'' UTC by '', dl.HandledBy)
             WHEN ISNULL(dl.MessageType, N'''') NOT IN (N''//redial/etl/event'')
                 THEN N''kept: its message type is not one that callers send''
             WHEN @WhatIf = 1 THEN N''would be replayed''
             ELSE N''kept: it is in use now; call again'' END AS Outcome
    FROM [etl].[DeadLetter] AS dl
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_DeadLetter]), FORCESEEK)  /* as above */
    LEFT OUTER JOIN @letters AS l ON l.DeadLetterId = dl.DeadLetterId
    WHERE dl.DeadLetterId BETWEEN @deadLetterId AND @lastId
    ORDER BY dl.DeadLetterId;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_Resend.procedure.sql', 4, N'procedure', N'[etl].[usp_Resend]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_Resend]
    @handle uniqueidentifier = NULL,    /* this dialog; NULL: all that are over */
    @most bigint = 100000,              /* 1 and up: a dialog with more copies is left alone */
    @olderThanSeconds int = 0,          /* younger copies are left alone */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: usp_ResendStranded and usp_ResendPending, with a look before and a word after.
   Result set, one row a dialog, at most 10,000: ConversationId uniqueidentifier, Handle uniqueidentifier
   (NULL: its initiator''s side is gone), Messages bigint (at most so many), Outcome nvarchar(200). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @dialogs TABLE
    (
        ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NULL,
        State char(2) NULL,
        Messages bigint NOT NULL
    );
    DECLARE @conversationId uniqueidentifier = ''00000000-0000-0000-0000-000000000000'';
    DECLARE @initiator uniqueidentifier;
    DECLARE @first bigint;
    DECLARE @dialogsSeen int = 0;
    DECLARE @code int = 0;
    DECLARE @result int = 0;

    IF @Help = 1
    BEGIN
        PRINT N''usp_Resend sends again what dialogs of configuration etl have left that cannot deliver it any more:
they failed and were too large for activation, or somebody ended them by hand.
  @handle            this dialog (the initiator''''s handle), open or not: it is given up; NULL: all that are over
  @most              1 and up, 100000 by default: a dialog with more messages is left alone
  @olderThanSeconds  0 by default: younger messages are left alone (not with @handle)
  @reason            why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf            1 (default): only show; 0: do it
  @Debug             1: print each step
Each dialog goes in one transaction: see first that there is room in the log for about three times the
bytes of the largest. What cannot be sent again is in DeadLetter afterwards. Look first: [etl].[vw_Unlanded].
Example: EXECUTE [etl].[usp_Resend] @reason = N''''somebody ended dialogs'''', @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50261, N''usp_Resend must be called outside a transaction: each dialog goes in one of its own.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    IF ISNULL(@most, 0) NOT BETWEEN 1 AND 2000000000
        SET @errors = @errors + N''@most must be 1 to 2000000000. '';
    IF ISNULL(@olderThanSeconds, -1) < 0
        SET @errors = @errors + N''@olderThanSeconds must be 0 or more. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50260, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Which: one seek a dialog. NOLOCK: a list; what is called below looks again under locks    */
    /* ----------------------------------------------------------------------------------------- */
    IF @handle IS NOT NULL
        INSERT INTO @dialogs (ConversationId, Handle, State, Messages)
        SELECT ce.conversation_id, ce.conversation_handle, ce.state,
            (SELECT COUNT_BIG(*) FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id)
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
        INNER JOIN sys.services AS s ON s.service_id = ce.service_id
        WHERE ce.conversation_handle = @handle AND ce.is_initiator = 1
          AND s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'';
    ELSE
        WHILE @dialogsSeen < 10000
        BEGIN
            SET @first = NULL;
            SELECT TOP (1) @conversationId = sm.ConversationId, @first = sm.MessageSequence
            FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId > @conversationId
            ORDER BY sm.ConversationId, sm.MessageSequence;
            IF @first IS NULL
                BREAK;
            SELECT @dialogsSeen = @dialogsSeen + 1, @initiator = NULL;
            SELECT @initiator = cl.Handle
            FROM [etl].[ConversationLog] AS cl
                WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written when it was begun; waits for nobody */
            WHERE cl.ConversationId = @conversationId;
            IF @initiator IS NULL                      /* its row was deleted by hand */
                SELECT @initiator = ce.conversation_handle
                FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* a handle never changes */
                WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;

            /* Numbers of a dialog step by 1 (F-452): from first to last, and no count. */
            INSERT INTO @dialogs (ConversationId, Handle, State, Messages)
            SELECT @conversationId, ce.conversation_handle, ce.state, l.LastSequence - @first + 1
            FROM (SELECT MAX(sm.MessageSequence) AS LastSequence FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                  WHERE sm.ConversationId = @conversationId) AS l
            LEFT OUTER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = @initiator
            WHERE l.LastSequence IS NOT NULL
              AND (ce.state IS NULL OR ce.state NOT IN (''SO'', ''CO''));
        END;

    IF @handle IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @dialogs)
        THROW 50260, N''@handle must be the initiator''''s handle of a conversation of service ''''//redial/etl/initiator'''' that is still there; see vw_Conversations. Nothing was done.'', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Send                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
    BEGIN
        INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason)
        SELECT N''resend'', CONCAT(COUNT(*), N'' dialogs'', N'', conversation '' + CONVERT(nvarchar(36), @handle)), @reason FROM @dialogs;

        IF @handle IS NULL
            EXECUTE [etl].[usp_ResendStranded] @olderThanSeconds = @olderThanSeconds, @most = @most;
        ELSE IF NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.Messages > @most)
        BEGIN
            /* What activation wrote down of its Error message. */
            SELECT @code = ISNULL(cl.Code, 0) FROM [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) WHERE cl.Handle = @handle;
            EXECUTE @result = [etl].[usp_ResendPending] @handle = @handle, @code = @code, @description = @reason;
        END;
        IF @Debug = 1
            PRINT CONCAT(N''Returned '', @result);
    END;

    SELECT d.ConversationId, d.Handle, d.Messages,
        CASE WHEN d.Messages > @most THEN CONCAT(N''kept: more than @most = '', @most, N'' messages; see that there is room in the log, then call with a larger @most'')
             WHEN @WhatIf = 1 THEN N''would be sent again''
             WHEN NOT EXISTS (SELECT 1 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = d.ConversationId)
                 THEN N''sent again, or in DeadLetter: see vw_DeadLetters''
             WHEN @result = 1 THEN N''kept: a reader of the target is at work on it; call again''
             ELSE N''kept: too young, in use now, or it failed; see vw_Errors'' END AS Outcome
    FROM @dialogs AS d
    ORDER BY d.ConversationId;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_RetireIdle.procedure.sql', 4, N'procedure', N'[etl].[usp_RetireIdle]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_RetireIdle]
    @olderThanSeconds int = NULL,       /* idle for at least this long; 0: none for being idle; NULL: 3600 */
    @WhatIf bit = 1,                    /* 1: only show what would be retired */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* Closes dialogs whose time has come, or that nobody has sent on for a while: the next send of that
   key begins a new one. Meant for a job; any time is right, as it takes R and G like a recycle (F-127).
   Idle is known by comparing a dialog''s next message number with what the last run wrote down in
   IdleWatch: no send writes anything for it (F-171). So a dialog is idle from the second run on, and
   counts from the first run that saw it unmoved.
   Result set: Handle uniqueidentifier, ConversationKey nvarchar(200), Why nvarchar(60), Messages bigint,
   Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @dialogs TABLE
    (
        DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NULL,     /* it has not moved since; NULL: it has, or is new */
        IsDue bit NOT NULL,
        Why nvarchar(60) NULL,          /* NULL: it stays */
        Outcome nvarchar(60) NULL,
        INDEX IX_Dialogs_Handle NONCLUSTERED (Handle)   /* step 3 looks each one up twice */
    );
    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @idleSeconds int = ISNULL(@olderThanSeconds, 3600);
    DECLARE @now datetime2(3) = SYSUTCDATETIME();
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @result int;

    IF @Help = 1
    BEGIN
        PRINT N''usp_RetireIdle closes dialogs of configuration etl that are past their time, near the end of their lifetime or idle, and
sends again what dialogs that were ended by hand have left behind (usp_ResendStranded).
  @olderThanSeconds  idle for at least this long (0: none for being idle); 3600 by default
  @WhatIf            1 (default): only show; 0: do it, and write down how far each dialog has come
  @Debug             1: print each step
Run it every few minutes with @WhatIf = 0: a dialog is known to be idle by comparing two runs.
Example: EXECUTE [etl].[usp_RetireIdle] @olderThanSeconds = 1800, @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50186, N''usp_RetireIdle must be called outside a transaction: each dialog is closed in one of its own.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */

    IF @idleSeconds < 0
        SET @errors = @errors + N''@olderThanSeconds must be 0 or more. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50185, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  How far each dialog has come                                                             */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @dialogs (Handle, ConversationKey, SendSequence, SinceUtc, IsDue)
    SELECT sc.Handle, sc.ConversationKey, ce.send_sequence,
        CASE WHEN iw.SendSequence = ce.send_sequence THEN iw.SinceUtc END,
        CASE WHEN 1 = 0
                  OR sc.RecycleAtUtc <= @now OR ce.send_sequence >= sc.RecycleAtMessages
                  OR ce.lifetime <= DATEADD(second, 3690, GETUTCDATE())     /* nobody sends on it any more (F-465) */
             THEN 1 ELSE 0 END
    FROM [etl].[SessionConversations] AS sc
        /* A list of whom to visit, no decision: NOLOCK waits for no sender, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration''s rows only. */
        WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
    INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = sc.Handle
    LEFT OUTER JOIN [etl].[IdleWatch] AS iw ON iw.Handle = sc.Handle
    WHERE sc.ConfigId = 1
      AND ce.state IN (''SO'', ''CO'')
      AND sc.BegunUtc IS NOT NULL;

    UPDATE d
    SET Why = CASE WHEN d.IsDue = 1 THEN N''its time has come''
                   ELSE CONCAT(N''idle for '', DATEDIFF_BIG(second, d.SinceUtc, @now), N'' s or more'') END,
        Outcome = N''would be retired''
    FROM @dialogs AS d
    WHERE d.IsDue = 1
       OR (@idleSeconds > 0 AND d.SinceUtc <= DATEADD(second, -@idleSeconds, @now));

    IF @Debug = 1
    BEGIN
        DECLARE @seen int = (SELECT COUNT(*) FROM @dialogs);
        DECLARE @due int = (SELECT COUNT(*) FROM @dialogs AS d WHERE d.Why IS NOT NULL);
        PRINT CONCAT(N''Dialogs: '', @seen, N'', to be retired: '', @due, N''.'');
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Write it down for the next run                                                           */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
    BEGIN
        BEGIN TRANSACTION;

        /* TABLOCKX: two runs of this procedure, one after the other; nobody else uses the table. */
        DELETE iw
        FROM [etl].[IdleWatch] AS iw WITH (TABLOCKX)
        WHERE NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.Handle = iw.Handle AND d.SendSequence = iw.SendSequence);

        INSERT INTO [etl].[IdleWatch] (Handle, SendSequence, SinceUtc)
        SELECT d.Handle, d.SendSequence, @now
        FROM @dialogs AS d
        WHERE NOT EXISTS (SELECT 1 FROM [etl].[IdleWatch] AS iw WHERE iw.Handle = d.Handle);

        COMMIT TRANSACTION;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  Close them, one by one; a busy one is in use and stays                                   */
    /* ----------------------------------------------------------------------------------------- */
    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.DialogId > @id AND d.Why IS NOT NULL)
    BEGIN
        SELECT TOP (1) @id = d.DialogId, @handle = d.Handle
        FROM @dialogs AS d
        WHERE d.DialogId > @id
          AND d.Why IS NOT NULL
        ORDER BY d.DialogId;

        EXECUTE @result = [etl].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;

        UPDATE @dialogs
        SET Outcome = CASE @result WHEN 0 THEN N''retired'' WHEN 1 THEN N''kept: it is in use now'' WHEN 3 THEN N''nothing to do: no row leads to it any more'' ELSE N''failed: see ErrorLog'' END
        WHERE DialogId = @id;
    END;

    IF @WhatIf = 0
        EXECUTE [etl].[usp_ResendStranded];

    SELECT d.Handle, d.ConversationKey, d.Why, d.SendSequence AS Messages, d.Outcome
    FROM @dialogs AS d
    WHERE d.Why IS NOT NULL
    ORDER BY d.DialogId;

    RETURN 0;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'78_usp_StartQueue.procedure.sql', 4, N'procedure', N'[etl].[usp_StartQueue]',
N'CREATE OR ALTER PROCEDURE [etl].[usp_StartQueue]
    @queue nvarchar(128) = NULL,        /* NULL: both */
    @restart bit = 0,                   /* 1: also switch activation off and on, where a reader is stuck */
    @waitSeconds int = 30,              /* 0 to 3600: how long to wait for readers that are at work */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each try */
WITH EXECUTE AS N''etl_module''
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: switches a queue and its activation on, with procedure, readers and the other properties
   the configuration says. What switched it off is not mended by this: see vw_Errors first; five rollbacks in
   a row would switch it off again (F-118). Only what differs is altered, unless @restart = 1.
   ALTER QUEUE waits for every open RECEIVE, and who sends or receives waits behind it (F-130): so it waits
   two seconds at a time and lets them pass in between.
   Result set, one row a queue: QueueName nvarchar(128), Figure nvarchar(200), Outcome nvarchar(400).
   Returns 0, or 1: not all is done; call again. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @queues TABLE (QueueName nvarchar(128) NOT NULL PRIMARY KEY, Figure nvarchar(200) NULL, IsDue bit NOT NULL, Outcome nvarchar(400) NULL);
    DECLARE @errors nvarchar(2048) = N'''';
    DECLARE @name nvarchar(128);
    DECLARE @deadline datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N''usp_StartQueue switches queues and their activation on, as configuration etl says.
  @queue        its name; NULL: both queues of the configuration that are in this database
  @restart      1: also switch activation off and on, where a reader ended without RECEIVE
  @waitSeconds  0 to 3600, 30 by default: how long to wait for readers that are at work
  @reason       why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf       1 (default): only show; 0: do it
  @Debug        1: print each try
Example: EXECUTE [etl].[usp_StartQueue] @reason = N''''disk is free again'''', @WhatIf = 0;'';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50271, N''usp_StartQueue must be called outside a transaction: altering a queue keeps its senders waiting until the end of one.'', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller''s would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* see above */

    IF @queue IS NOT NULL AND @queue NOT IN (N''InitiatorQueue'', N''TargetQueue'')
        SET @errors = @errors + N''@queue must be InitiatorQueue or TargetQueue, or NULL for both. '';
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N''@waitSeconds must be 0 to 3600. '';
    IF @WhatIf IS NULL
        SET @errors = @errors + N''@WhatIf must be 0 or 1. '';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'''') IS NULL
        SET @errors = @errors + N''@reason must say why, in 1 to 400 characters. '';
    IF @errors <> N''''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50270, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    INSERT INTO @queues (QueueName, Figure, IsDue)
    SELECT q.name,
        CONCAT(N''queue '', CASE WHEN q.is_receive_enabled = 1 AND q.is_enqueue_enabled = 1 THEN N''on'' ELSE N''OFF'' END,
            N'', activation '', CASE WHEN q.is_activation_enabled = 1 THEN N''on'' ELSE N''OFF'' END, N'', procedure '', ISNULL(q.activation_procedure, N''NONE''),
            N'', readers '', q.max_readers, N'', retention '', q.is_retention_enabled, N'', poison handling '', q.is_poison_message_handling_enabled),
        CASE WHEN ISNULL(@restart, 0) = 0
              AND q.is_receive_enabled = 1 AND q.is_enqueue_enabled = 1 AND q.is_activation_enabled = 1
              AND q.is_retention_enabled = 0 AND q.is_poison_message_handling_enabled = k.Poison
              AND q.max_readers = k.Readers
              AND OBJECT_ID(q.activation_procedure) = k.ProcedureId
              AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N''etl_module'') THEN 0 ELSE 1 END
    FROM (VALUES
        (OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ''), 2, 1, OBJECT_ID(N''[etl].[usp_SenderActivation]'', N''P'')),
        (OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ''), 4, 1, OBJECT_ID(N''[etl].[usp_TargetActivation]'', N''P''))
    ) AS k(QueueId, Readers, Poison, ProcedureId)
    INNER JOIN sys.service_queues AS q ON q.object_id = k.QueueId
    WHERE q.name = ISNULL(@queue, q.name);

    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL)
    BEGIN
        SELECT TOP (1) @name = q.QueueName FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL ORDER BY q.QueueName;
        BEGIN TRY
            IF @name = N''InitiatorQueue''
            BEGIN
                IF @restart = 1
                    ALTER QUEUE [etl].[InitiatorQueue] WITH ACTIVATION (STATUS = OFF);
                ALTER QUEUE [etl].[InitiatorQueue] WITH STATUS = ON, RETENTION = OFF,
                    ACTIVATION (STATUS = ON, PROCEDURE_NAME = [etl].[usp_SenderActivation], MAX_QUEUE_READERS = 2, EXECUTE AS SELF),
                    POISON_MESSAGE_HANDLING (STATUS = ON);
            END;
            IF @name = N''TargetQueue''
            BEGIN
                IF @restart = 1
                    ALTER QUEUE [etl].[TargetQueue] WITH ACTIVATION (STATUS = OFF);
                ALTER QUEUE [etl].[TargetQueue] WITH STATUS = ON, RETENTION = OFF,
                    ACTIVATION (STATUS = ON, PROCEDURE_NAME = [etl].[usp_TargetActivation], MAX_QUEUE_READERS = 4, EXECUTE AS SELF),
                    POISON_MESSAGE_HANDLING (STATUS = ON);
            END;
            UPDATE @queues SET Outcome = N''done'' WHERE QueueName = @name;
            INSERT INTO [etl].[OperatorLog] (Action, Detail, Reason) VALUES (N''start queue'', @name, @reason);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @Debug = 1
                PRINT CONCAT(@name, N'': '', ERROR_MESSAGE());
            IF ERROR_NUMBER() <> 1222 OR SYSUTCDATETIME() >= @deadline
                UPDATE @queues
                SET Outcome = LEFT(CASE WHEN ERROR_NUMBER() = 1222 THEN N''not done: readers or senders were at work on it all the time; call again''
                                        ELSE CONCAT(N''failed: '', ERROR_MESSAGE()) END, 400)
                WHERE QueueName = @name;
            ELSE
                WAITFOR DELAY ''00:00:00.500'';
        END CATCH;
    END;

    SELECT q.QueueName, q.Figure, ISNULL(q.Outcome, CASE WHEN q.IsDue = 0 THEN N''nothing to do'' ELSE N''would be done'' END) AS Outcome
    FROM @queues AS q
    ORDER BY q.QueueName;

    RETURN CASE WHEN EXISTS (SELECT 1 FROM @queues AS q WHERE q.Outcome <> N''done'') THEN 1 ELSE 0 END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'79_modules.signature.sql', 4, NULL, NULL,
N'/* Nothing is signed. What an earlier deployment with security.signing = "certificate" made is dropped. */
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
    WHERE LEFT(ct.name, LEN(N''redial_etl_signing_'')) = N''redial_etl_signing_''
      AND LEN(ct.name) = LEN(N''redial_etl_signing_'') + 36   /* a GUID behind it: no other configuration''s */
      AND ct.name <> ISNULL(@signer, N'''')
    ORDER BY ct.name;
    IF @oldSigner IS NULL
        BREAK;

    SET @dropSigner = NULL;
    SELECT TOP (1) @dropSigner = CONCAT(N''DROP SIGNATURE FROM '', QUOTENAME(OBJECT_SCHEMA_NAME(cp.major_id)),
        N''.'', QUOTENAME(OBJECT_NAME(cp.major_id)), N'' BY CERTIFICATE '', QUOTENAME(@oldSigner), N'';'')
    FROM sys.crypt_properties AS cp
    INNER JOIN sys.certificates AS ct ON ct.thumbprint = cp.thumbprint
    WHERE ct.name = @oldSigner AND cp.class = 1;

    IF @dropSigner IS NULL
    BEGIN
        IF DATABASE_PRINCIPAL_ID(@oldSigner) IS NOT NULL
            SET @dropSigner = CONCAT(N''ALTER ROLE [db_owner] DROP MEMBER '', QUOTENAME(@oldSigner),
                N''; DROP USER '', QUOTENAME(@oldSigner), N''; '');
        SET @dropSigner = CONCAT(@dropSigner, N''DROP CERTIFICATE '', QUOTENAME(@oldSigner), N'';'');
    END;

    EXECUTE sys.sp_executesql @dropSigner;
END;

COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_Conversations.view.sql', 4, N'view', N'[etl].[vw_Conversations]',
N'CREATE OR ALTER VIEW [etl].[vw_Conversations]
AS
/* Redial 0.1.0, configuration etl */
/* Both sides of every conversation of this configuration; columns: see ufn_Conversations. */
SELECT
    f.Side, f.ConversationHandle, f.ConversationId, f.State, f.Purpose, f.ConversationKey, f.BegunUtc,
    f.AgeSeconds, f.EndOfStreamUtc, f.Sent, f.Received, f.TimerDue, f.LifetimeUtc, f.ClosedUntilUtc, f.Priority
FROM [etl].[ufn_Conversations]() AS f;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_DeadLetters.view.sql', 4, N'view', N'[etl].[vw_DeadLetters]',
N'CREATE OR ALTER VIEW [etl].[vw_DeadLetters]
AS
/* Redial 0.1.0, configuration etl */
/* Dead letters without their bodies: who may list them need not be allowed to read what was sent.
   HandledUtc NULL: nobody has replayed it yet. Key, number and id are out of the header in front of the body (F-146). NOLOCK: never waits for a reader that is adding one. */
SELECT
    dl.DeadLetterId, dl.AddedUtc, dl.Side, dl.ConversationId, dl.ConversationHandle, dl.MessageSequence,
    dl.MessageType, dl.Code, dl.Reason, dl.HandledUtc, dl.HandledBy, dl.Handling, dl.HandlingReason,
    DATALENGTH(dl.Body) AS BodyBytes,
    e.ConversationKey, e.KeySequence, e.MessageId
FROM [etl].[DeadLetter] AS dl WITH (NOLOCK)
CROSS APPLY [etl].[ufn_ReadEnvelope](SUBSTRING(dl.Body, 1, 1300)) AS e;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_Errors.view.sql', 4, N'view', N'[etl].[vw_Errors]',
N'CREATE OR ALTER VIEW [etl].[vw_Errors]
AS
/* Redial 0.1.0, configuration etl */
/* What went wrong, from every table that says so; order it by HappenedUtc yourself. NOLOCK: whoever
   watches must not wait for a reader that is just writing an error down.
   Source: error (ErrorLog), poison (a row that made its transaction roll back), dead letter (without
   its body). Dialogs that ended with an Error message: vw_FailedConversations. */
SELECT
    el.AddedUtc AS HappenedUtc, N''error'' AS Source, el.ProcedureName AS ObjectName, el.ConversationHandle,
    el.MessageSequence, el.ErrorNumber AS Code, el.ErrorMessage AS ErrorText
FROM [etl].[ErrorLog] AS el WITH (NOLOCK)
UNION ALL
SELECT
    pa.LastUtc, N''poison'', pa.MessageType, pa.ConversationHandle, pa.MessageSequence, pa.ErrorNumber,
    CONCAT(pa.Attempts, N'' rollback(s): '', pa.ErrorMessage)
FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.Attempts > 0   /* 0: the mark of a batch in a hook (F-163) */
UNION ALL
SELECT
    dl.AddedUtc, N''dead letter'', dl.MessageType, dl.ConversationHandle, dl.MessageSequence, dl.Code, dl.Reason
FROM [etl].[DeadLetter] AS dl WITH (NOLOCK);
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_FailedConversations.view.sql', 4, N'view', N'[etl].[vw_FailedConversations]',
N'CREATE OR ALTER VIEW [etl].[vw_FailedConversations]
AS
/* Redial 0.1.0, configuration etl */
/* Dialogs that ended with an Error message; what was lost by it, if anything, is in DeadLetter too.
   Reads all of ConversationLog, a row for every dialog of the last [retention].log_days: not for a
   screen that asks every few seconds, vw_Errors is. There is no index for it on purpose: who reads by
   it under READ COMMITTED could deadlock with activation, which writes by the clustered key (F-127);
   and a filtered one would refuse senders with ANSI_WARNINGS or ANSI_PADDING OFF (1934). NOLOCK: as in
   vw_Errors. */
SELECT
    cl.EndedUtc, cl.Code, cl.Reason, cl.Handle AS ConversationHandle, cl.ConversationId, cl.ConversationKey,
    cl.BegunUtc, cl.Messages, cl.Resent, cl.DeadLettered
FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)
WHERE cl.Code <> 0
  AND cl.EndedUtc IS NOT NULL;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_Pending.view.sql', 4, N'view', N'[etl].[vw_Pending]',
N'CREATE OR ALTER VIEW [etl].[vw_Pending]
AS
/* Redial 0.1.0, configuration etl */
/* Dialogs with messages that have not reached their queue, at most 10,000, and what the server says is in the way;
   see ufn_Pending. What has not landed for any reason: vw_Unlanded.
   StatusKind, by the server''s texts (English, German ... servers give ''other''): not tried, queue off,
   busy, no service, no route, broker off, access, far side ended, other. */
SELECT
    f.ConversationHandle, f.MessageSequence, f.MessageType, f.IsEndOfDialog, f.IsError, f.EnqueuedUtc,
    f.WaitingSeconds, f.ToService,
    CASE WHEN ISNULL(f.TransmissionStatus, N'''') = N'''' THEN N''not tried''
         WHEN f.TransmissionStatus LIKE N''%queue%disabled%'' THEN N''queue off''
         WHEN f.TransmissionStatus LIKE N''%busy%'' THEN N''busy''
         WHEN f.TransmissionStatus LIKE N''%broker%disabled%'' OR f.TransmissionStatus LIKE N''%broker is not enabled%'' THEN N''broker off''
         WHEN f.TransmissionStatus LIKE N''%no service by that name%'' OR f.TransmissionStatus LIKE N''%could not find the target broker%'' THEN N''no service''
         WHEN f.TransmissionStatus LIKE N''%route%'' THEN N''no route''
         WHEN f.TransmissionStatus LIKE N''%security context%'' OR f.TransmissionStatus LIKE N''%permission%''
             OR f.TransmissionStatus LIKE N''%master key%'' OR f.TransmissionStatus LIKE N''%certificate%'' THEN N''access''
         WHEN f.TransmissionStatus LIKE N''%end dialog%'' OR f.TransmissionStatus LIKE N''%error message%'' THEN N''far side ended''
         ELSE N''other'' END AS StatusKind,
    f.TransmissionStatus,
    CONVERT(nvarchar(200), NULL) AS ConversationKey, CONVERT(bigint, NULL) AS KeySequence, CONVERT(uniqueidentifier, NULL) AS MessageId
FROM [etl].[ufn_Pending]() AS f;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_Queues.view.sql', 4, N'view', N'[etl].[vw_Queues]',
N'CREATE OR ALTER VIEW [etl].[vw_Queues]
AS
/* Redial 0.1.0, configuration etl */
/* The two queues of this configuration, without reading them; columns: see ufn_Queues. */
SELECT
    f.Side, f.QueueName, f.Messages, f.IsReceiveEnabled, f.IsEnqueueEnabled, f.IsActivationEnabled,
    f.ActivationProcedure, f.MaxReaders, f.IsRetentionEnabled, f.IsPoisonMessageHandlingEnabled
FROM [etl].[ufn_Queues]() AS f;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'80_vw_Unlanded.view.sql', 4, N'view', N'[etl].[vw_Unlanded]',
N'CREATE OR ALTER VIEW [etl].[vw_Unlanded]
AS
/* Redial 0.1.0, configuration etl */
/* Messages that were sent and have not landed, without their bodies.
   Status: pending (it is on its way, or waits to be sent again), dead letter (until it is replayed).
   NOLOCK: whoever watches must neither wait for senders nor make them wait. */
SELECT
    N''pending'' AS Status, sm.SentUtc AS SinceUtc, sm.ConversationId, sm.MessageSequence, sm.MessageType,
    e.ConversationKey, e.KeySequence, e.MessageId,
    CONVERT(bigint, NULL) AS DeadLetterId
FROM [etl].[SentMessage] AS sm WITH (NOLOCK)
CROSS APPLY [etl].[ufn_ReadEnvelope](SUBSTRING(sm.Body, 1, 1300)) AS e     -- noqa: AL05
UNION ALL
SELECT
    N''dead letter'' AS Status, dl.AddedUtc AS SinceUtc, dl.ConversationId, dl.MessageSequence, dl.MessageType,
    dl.ConversationKey, dl.KeySequence, dl.MessageId, dl.DeadLetterId
FROM [etl].[vw_DeadLetters] AS dl
WHERE dl.HandledUtc IS NULL;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'81_queues.activation.sql', 4, NULL, NULL,
N'/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it (F-130). A reader without
   something it calls would roll back five times and switch its queue off (F-118); where scripts go on
   after an error (F-139), what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N''[etl].[ConversationLog]''), (N''[etl].[DeadLetter]''), (N''[etl].[DeploymentAttempt]''),
               (N''[etl].[DeploymentHistory]''), (N''[etl].[DeploymentText]''), (N''[etl].[ErrorLog]''), (N''[etl].[Gate]''),
               (N''[etl].[IdleWatch]''), (N''[etl].[Inbox]''), (N''[etl].[Landing]''), (N''[etl].[LandingAcknowledged]''),
               (N''[etl].[MessageBatch]''), (N''[etl].[Migration]''), (N''[etl].[OperatorLog]''), (N''[etl].[Outbox]''),
               (N''[etl].[OwnedObject]''), (N''[etl].[PoisonAttempt]''), (N''[etl].[ReceivedBatch]''),
               (N''[etl].[SendLedger]''), (N''[etl].[SentMessage]''), (N''[etl].[SessionConversations]''),
               (N''[etl].[Setting]''), (N''[etl].[ufn_Conversations]''), (N''[etl].[ufn_HealthBroker]''),
               (N''[etl].[ufn_HealthConversations]''), (N''[etl].[ufn_HealthData]''), (N''[etl].[ufn_HealthPending]''),
               (N''[etl].[ufn_HealthQueues]''), (N''[etl].[ufn_Leaked]''), (N''[etl].[ufn_Pending]''),
               (N''[etl].[ufn_QueuePages]''), (N''[etl].[ufn_Queues]''), (N''[etl].[ufn_ReadBatch]''),
               (N''[etl].[ufn_ReadEnvelope]''), (N''[etl].[usp_AcknowledgeLanding]''), (N''[etl].[usp_AcquireConversation]''),
               (N''[etl].[usp_ArmTimer]''), (N''[etl].[usp_BeginConversation]''), (N''[etl].[usp_BeginPartition]''),
               (N''[etl].[usp_CheckHealth]''), (N''[etl].[usp_CheckMessages]''), (N''[etl].[usp_CloseDialogs]''),
               (N''[etl].[usp_CloseGate]''), (N''[etl].[usp_Drain]''), (N''[etl].[usp_DropCopies]''),
               (N''[etl].[usp_EndInitiator]''), (N''[etl].[usp_EndLeaked]''), (N''[etl].[usp_EndLeakedOne]''),
               (N''[etl].[usp_EndPartition]''), (N''[etl].[usp_EndTarget]''), (N''[etl].[usp_FindPoison]''),
               (N''[etl].[usp_Health]''), (N''[etl].[usp_InTheWay]''), (N''[etl].[usp_LandBatch]''), (N''[etl].[usp_LandRow]''),
               (N''[etl].[usp_LogError]''), (N''[etl].[usp_Mark]''), (N''[etl].[usp_MoveCopies]''), (N''[etl].[usp_OpenGate]''),
               (N''[etl].[usp_PickConversation]''), (N''[etl].[usp_PurgeDeadLetter]''), (N''[etl].[usp_PurgeInbox]''),
               (N''[etl].[usp_PurgeLanding]''), (N''[etl].[usp_PurgeLogs]''), (N''[etl].[usp_PurgePoison]''),
               (N''[etl].[usp_PurgeSendLedger]''), (N''[etl].[usp_ReadErrorBody]''), (N''[etl].[usp_RecordPoison]''),
               (N''[etl].[usp_RecycleConversation]''), (N''[etl].[usp_RehearseLanding]''), (N''[etl].[usp_ReopenGate]''),
               (N''[etl].[usp_ReorganizeQueue]''), (N''[etl].[usp_ReplayDeadLetter]''), (N''[etl].[usp_Resend]''),
               (N''[etl].[usp_ResendLeft]''), (N''[etl].[usp_ResendPending]''), (N''[etl].[usp_ResendStranded]''),
               (N''[etl].[usp_RetireIdle]''), (N''[etl].[usp_Send]''), (N''[etl].[usp_SendBatch]''),
               (N''[etl].[usp_SendEndOfStream]''), (N''[etl].[usp_SenderActivation]''), (N''[etl].[usp_SendMessages]''),
               (N''[etl].[usp_SendPrivately]''), (N''[etl].[usp_StartQueue]''), (N''[etl].[usp_TakeTurn]''),
               (N''[etl].[usp_TargetActivation]''), (N''[etl].[usp_WaitForEnds]''), (N''[etl].[usp_WaitForServer]''),
               (N''[etl].[usp_WaitForSlot]''), (N''[etl].[vw_Conversations]''), (N''[etl].[vw_DeadLetters]''),
               (N''[etl].[vw_Errors]''), (N''[etl].[vw_FailedConversations]''), (N''[etl].[vw_Pending]''),
               (N''[etl].[vw_Queues]''), (N''[etl].[vw_Unlanded]'')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N''No queue of schema [etl] was activated: an earlier script failed and something its reader needs is missing. Next: run redial.sql again.'', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ'')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N''Somebody has switched the activation of [etl].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [etl].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.'';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ'')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 2
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N''[etl].[usp_SenderActivation]'', N''P'')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N''etl_module''))
BEGIN
    ALTER QUEUE [etl].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [etl].[usp_SenderActivation],
        MAX_QUEUE_READERS = 2,
        EXECUTE AS N''etl_module''
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ'')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N''Somebody has switched the activation of [etl].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [etl].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.'';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ'')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N''[etl].[usp_TargetActivation]'', N''P'')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N''etl_module''))
BEGIN
    ALTER QUEUE [etl].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [etl].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N''etl_module''
    );
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'82_trouble.notification.sql', 4, NULL, NULL,
N'/* operations.notify_queue_off is false: what an earlier choice made goes. */
DECLARE @property int;
SET XACT_ABORT ON;
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N''[etl].[InitiatorQueue]'', N''SQ'') AND n.name = N''redial_etl_trouble'')
    DROP EVENT NOTIFICATION [redial_etl_trouble] ON QUEUE [etl].[InitiatorQueue];
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N''[etl].[TargetQueue]'', N''SQ'') AND n.name = N''redial_etl_trouble'')
    DROP EVENT NOTIFICATION [redial_etl_trouble] ON QUEUE [etl].[TargetQueue];

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''redial/etl/trouble'')
                 AND ep.name = N''Redial.made'')
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N''redial/etl/trouble'')
                     AND ep.name = N''Redial.made'')
    BEGIN
        EXECUTE @property = sys.sp_dropextendedproperty @name = N''Redial.made'',
            @level0type = N''SERVICE'', @level0name = N''redial/etl/trouble'';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
    END;
    DROP SERVICE [redial/etl/trouble];
    COMMIT TRANSACTION;
END;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N''Redial.made''
                 AND ep.major_id = OBJECT_ID(N''[etl].[TroubleQueue]''))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N''Redial.made'', @level0type = N''SCHEMA'',
        @level0name = N''etl'', @level1type = N''QUEUE'', @level1name = N''TroubleQueue'';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
    DROP QUEUE [etl].[TroubleQueue];
    COMMIT TRANSACTION;
END;

');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'85_roles.grant.sql', 4, NULL, NULL,
N'/* Who may do what. A DENY on what is granted here was decided by somebody, and GRANT would take it away (F-505):
   it is given back in the same transaction, so nobody is let in meanwhile. */
SET XACT_ABORT ON;
DECLARE @deny nvarchar(1200);
DECLARE @denied TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Statement nvarchar(1200) NOT NULL);
INSERT INTO @denied (Statement)
SELECT CONCAT(N''DENY '', p.permission_name COLLATE DATABASE_DEFAULT, N'' ON '',
    CASE p.class WHEN 6 THEN N''TYPE'' ELSE N''OBJECT'' END, N''::'', N''[etl].'',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N'' TO '', QUOTENAME(dp.name), N'';'')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = ''D'' AND p.minor_id = 0
  AND dp.name IN (N''etl_sender'', N''etl_operator'', N''etl_reader'')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N''etl'')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N''etl''))));
BEGIN TRANSACTION;
/* The application''s whole right: to send. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Send] TO [etl_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[etl].[usp_ResendPending] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ResendStranded] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[ConversationLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[DeadLetter] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[DeploymentHistory] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[ErrorLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Gate] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Migration] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[OperatorLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[PoisonAttempt] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Setting] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_DeadLetters] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Unlanded] TO [etl_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[etl].[ConversationLog] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[Landing] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[vw_Unlanded] TO [etl_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[etl].[usp_SendBatch] TO [etl_sender];
GRANT EXECUTE ON TYPE::[etl].[MessageBatch] TO [etl_sender];
GRANT SELECT, INSERT ON OBJECT::[etl].[Outbox] TO [etl_sender];
/* Sending in pieces that may be run again: the sender''s procedures, the operator''s look and purge. The
   table itself is nobody else''s: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[etl].[usp_BeginPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeSendLedger] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[SendLedger] TO [etl_operator];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Health] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_CheckHealth] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Conversations] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Queues] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Pending] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Errors] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_FailedConversations] TO [etl_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Drain] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_OpenGate] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndLeaked] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_RetireIdle] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReplayDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Resend] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_StartQueue] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReorganizeQueue] TO [etl_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[etl].[usp_AcknowledgeLanding] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[LandingAcknowledged] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[LandingAcknowledged] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_AcknowledgeLanding] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeLogs] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeInbox] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeLanding] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgePoison] TO [etl_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[etl].[DeploymentAttempt] TO [etl_operator];

WHILE EXISTS (SELECT 1 FROM @denied)
BEGIN
    SELECT TOP (1) @deny = d.Statement FROM @denied AS d ORDER BY d.Ordinal;
    DELETE FROM @denied WHERE Statement = @deny;
    EXECUTE sys.sp_executesql @deny;
    PRINT CONCAT(N''Left as it was: '', @deny);
END;
COMMIT TRANSACTION;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'88_earlier.cleanup.sql', 4, NULL, NULL,
N'/* What earlier choices installed and these do not: nothing calls it any more. A table goes when it is
   empty; rows are data, and purge_data.sql removes them. */
SET XACT_ABORT ON;

DECLARE @property int;
DECLARE @drops TABLE (Kind nvarchar(30) NOT NULL, Name sysname NOT NULL, PRIMARY KEY (Kind, Name));
DECLARE @dropKind nvarchar(30);
DECLARE @dropName sysname;
DECLARE @dropOurs bit;
DECLARE @dropStatement nvarchar(600);
INSERT INTO @drops (Kind, Name)
VALUES
    (N''TABLE'', N''Everlasting''), (N''TABLE'', N''KeySequence''), (N''TABLE'', N''SkippedNumber''),
    (N''PROCEDURE'', N''usp_CloseEverlasting''), (N''PROCEDURE'', N''usp_QueueTrouble''),
    (N''PROCEDURE'', N''usp_RecycleInOneTransaction''), (N''PROCEDURE'', N''usp_SeesPending'');
WHILE EXISTS (SELECT 1 FROM @drops)
BEGIN
    SELECT TOP (1) @dropKind = d.Kind, @dropName = d.Name, @dropOurs = NULL
    FROM @drops AS d
    ORDER BY CASE d.Kind WHEN N''TYPE'' THEN 1 ELSE 0 END, d.Name;
    DELETE FROM @drops WHERE Kind = @dropKind AND Name = @dropName;

    SELECT @dropOurs = CASE WHEN CASE o.type WHEN ''U'' THEN N''TABLE'' WHEN ''SQ'' THEN N''QUEUE'' WHEN ''P'' THEN N''PROCEDURE'' WHEN ''V'' THEN N''VIEW''
              WHEN ''TR'' THEN N''TRIGGER'' WHEN ''IF'' THEN N''FUNCTION'' WHEN ''TF'' THEN N''FUNCTION'' WHEN ''FN'' THEN N''FUNCTION'' END = @dropKind
                             AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N''Redial.made'')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N''%* Redial [0-9]%, configuration %'')) THEN 1 ELSE 0 END
    FROM sys.objects AS o
    WHERE @dropKind <> N''TYPE'' AND o.schema_id = SCHEMA_ID(N''etl'') AND o.name = @dropName;
    SELECT @dropOurs = CASE WHEN EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N''Redial.made'') THEN 1 ELSE 0 END
    FROM sys.types AS t
    WHERE @dropKind = N''TYPE'' AND t.schema_id = SCHEMA_ID(N''etl'') AND t.name = @dropName;
    IF @dropOurs IS NULL
        CONTINUE;       /* nothing of this name is there */
    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N''[etl].'', QUOTENAME(@dropName), N'' was not made by Redial: kept.'');
        CONTINUE;
    END;
    IF @dropKind = N''TABLE''
    BEGIN
        SET @dropStatement = CONCAT(N''IF EXISTS (SELECT 1 FROM '', N''[etl].'', QUOTENAME(@dropName), N'') SET @ours = 0;'');
        EXECUTE sys.sp_executesql @dropStatement, N''@ours bit OUTPUT'', @ours = @dropOurs OUTPUT;
        IF @dropOurs = 0
        BEGIN
            PRINT CONCAT(N''Table [etl].'', QUOTENAME(@dropName), N'' is of an earlier choice and has rows: kept.'');
            CONTINUE;
        END;
    END;

    BEGIN TRANSACTION;
    IF @dropKind IN (N''TABLE'', N''TYPE'', N''QUEUE'')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N''Redial.made'', @level0type = N''SCHEMA'',
            @level0name = N''etl'', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
    END;
    SET @dropStatement = CONCAT(N''DROP '', @dropKind, N'' '', N''[etl].'', QUOTENAME(@dropName), N'';'');
    EXECUTE sys.sp_executesql @dropStatement;
    COMMIT TRANSACTION;
END;

/* Versions of the contract that are no longer listed. The target service lets go of one when no
   conversation is on it: what ALTER SERVICE .. DROP CONTRACT does to those is told in two ways (F-193). */
DECLARE @mark sysname = CONCAT(N''Redial.user.'', SCHEMA_ID(N''etl''));
DECLARE @name sysname = NULL;
DECLARE @statement nvarchar(600);
DECLARE @old TABLE (Name sysname COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY);

INSERT INTO @old (Name)
SELECT sc.name
FROM sys.service_contracts AS sc
INNER JOIN sys.extended_properties AS ep ON ep.class = 16 AND ep.major_id = sc.service_contract_id
INNER JOIN sys.service_contract_usages AS u ON u.service_contract_id = sc.service_contract_id
INNER JOIN sys.services AS s ON s.service_id = u.service_id
WHERE ep.name = @mark
  AND s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target''
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/contract'')
  AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = sc.service_contract_id);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @statement = CONCAT(N''ALTER SERVICE '', N''[//redial/etl/target]'', N'' (DROP CONTRACT '', QUOTENAME(@name), N'');'');
    EXECUTE sys.sp_executesql @statement;
END;

DECLARE @released TABLE
(
    Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    Kind nvarchar(30) NOT NULL,
    Class tinyint NOT NULL,
    Id int NOT NULL,
    Name sysname NOT NULL
);
DECLARE @ordinal int = 0;
DECLARE @releaseKind nvarchar(30);
DECLARE @releaseClass tinyint;
DECLARE @releaseId int;
DECLARE @releaseName sysname;
DECLARE @users int;
DECLARE @releaseStatement nvarchar(400);

INSERT INTO @released (Kind, Class, Id, Name)
SELECT N''SERVICE'', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.services AS x ON x.service_id = ep.major_id
WHERE ep.class = 17
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/initiator'', N''//redial/etl/target'');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N''CONTRACT'', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_contracts AS x ON x.service_contract_id = ep.major_id
WHERE ep.class = 16
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/contract'');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N''MESSAGE TYPE'', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_message_types AS x ON x.message_type_id = ep.major_id
WHERE ep.class = 15
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N''//redial/etl/event'', N''EndOfStream'');

WHILE EXISTS (SELECT 1 FROM @released AS r WHERE r.Ordinal > @ordinal)
BEGIN
    SELECT TOP (1) @ordinal = r.Ordinal, @releaseKind = r.Kind, @releaseClass = r.Class, @releaseId = r.Id, @releaseName = r.Name
    FROM @released AS r
    WHERE r.Ordinal > @ordinal
    ORDER BY r.Ordinal;

    /* Who else: other configurations, services bound to a contract, conversations on it (a CLOSED one
       too: what DROP CONTRACT does to it is unknown, F-193), contracts with a type in them. */
    SET @users = (SELECT COUNT(*) FROM sys.extended_properties AS ep
                  WHERE ep.class = @releaseClass AND ep.major_id = @releaseId
                    AND ep.name LIKE N''Redial.user.%'' AND ep.name <> @mark)
        + CASE @releaseClass
            WHEN 16 THEN (SELECT COUNT(*) FROM sys.service_contract_usages AS u WHERE u.service_contract_id = @releaseId)
                + (SELECT COUNT(*) FROM sys.conversation_priorities AS cp WHERE cp.service_contract_id = @releaseId)
                + (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = @releaseId)
            WHEN 15 THEN (SELECT COUNT(*) FROM sys.service_contract_message_usages AS u WHERE u.message_type_id = @releaseId)
            WHEN 17 THEN (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_id = @releaseId AND ce.state <> ''CD'')
            ELSE 0 END;

    IF @users > 0
    BEGIN
        PRINT CONCAT(@releaseKind, N'' '', QUOTENAME(@releaseName), N'' is no longer configured but still in use: kept, the next deployment asks again.'');
        CONTINUE;
    END;

    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = @mark, @level0type = @releaseKind, @level0name = @releaseName;
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
    IF @users = 0
       AND EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = @releaseClass AND ep.major_id = @releaseId AND ep.name = N''Redial.made'')
    BEGIN
        /* First the mark: that DROP takes an object''s properties along is nowhere promised (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N''Redial.made'', @level0type = @releaseKind, @level0name = @releaseName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
        SET @releaseStatement = CONCAT(N''DROP '', @releaseKind, N'' '', QUOTENAME(@releaseName), N'';'');
        EXECUTE sys.sp_executesql @releaseStatement;
    END
    ELSE IF @releaseClass <> 17
    BEGIN
        SET @releaseStatement = CONCAT(N''REVOKE REFERENCES ON '', @releaseKind, N''::'', QUOTENAME(@releaseName), N'' FROM '', N''[etl_module]'', N'';'');
        EXECUTE sys.sp_executesql @releaseStatement;
    END;
    COMMIT TRANSACTION;
END;

');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'88_earlier.cleanup.sql', 185, NULL, NULL,
N'/* Queues of an earlier choice, or of a deployment of a later version that stopped half-way, once no service is
   on them and no message in them (F-170). */
SET XACT_ABORT ON;

DECLARE @property int;
DECLARE @name nvarchar(400);
DECLARE @queue nvarchar(600);
DECLARE @statement nvarchar(800);
DECLARE @tries int;
DECLARE @old TABLE (Name nvarchar(400) NOT NULL);

INSERT INTO @old (Name)
SELECT q.name
FROM sys.service_queues AS q
WHERE q.schema_id = SCHEMA_ID(N''etl'')
  AND q.name NOT IN (N''InitiatorQueue'', N''TargetQueue'', N''TroubleQueue'')
  AND NOT EXISTS (SELECT 1
                  FROM sys.internal_tables AS it
                  INNER JOIN sys.partitions AS p ON p.object_id = it.object_id
                  WHERE it.parent_object_id = q.object_id AND p.rows > 0);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @queue = CONCAT(N''[etl].'', QUOTENAME(@name));
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.major_id = OBJECT_ID(@queue, N''SQ'') AND ep.name = N''Redial.made'')
       AND NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.service_queue_id = OBJECT_ID(@queue, N''SQ''))
    BEGIN
        /* Asked first: a deployment that stopped before 81_activation left a queue without any, and what
           DROP says to that is not on the alter-queue page (F-360). */
        IF EXISTS (SELECT 1 FROM sys.service_queues AS q
                   WHERE q.object_id = OBJECT_ID(@queue, N''SQ'') AND q.activation_procedure IS NOT NULL)
        BEGIN
            SET @statement = CONCAT(N''ALTER QUEUE '', @queue, N'' WITH ACTIVATION (DROP);'');
            EXECUTE sys.sp_executesql @statement;
        END;

        /* Its readers find it empty and leave. Who may not look at them (VIEW SERVER STATE) does not
           wait: a reader then finds the queue gone and says so in ErrorLog, once. */
        SET @tries = 0;
        BEGIN TRY
            WHILE @tries < 60
                  AND EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t
                              WHERE t.database_id = DB_ID() AND t.queue_id = OBJECT_ID(@queue, N''SQ''))
            BEGIN
                SET @tries = @tries + 1;
                WAITFOR DELAY ''00:00:00.500'';
            END;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            PRINT ERROR_MESSAGE();
        END CATCH;

        SET @statement = CONCAT(N''DROP QUEUE '', @queue, N'';'');
        BEGIN TRANSACTION;
        EXECUTE @property = sys.sp_dropextendedproperty @name = N''Redial.made'', @level0type = N''SCHEMA'',
            @level0name = N''etl'', @level1type = N''QUEUE'', @level1name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N''A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.'', 1;
        EXECUTE sys.sp_executesql @statement;
        COMMIT TRANSACTION;
    END;
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'88_earlier.cleanup.sql', 253, NULL, NULL,
N'/* Agent jobs and alerts of an earlier choice: what they call is gone, or nobody wants it any more. */
DECLARE @kept TABLE (Name nvarchar(128) NOT NULL);
INSERT INTO @kept (Name)
VALUES
    (LEFT(CONCAT(N''Redial etl: retire, '', DB_NAME()), 128)),
    (LEFT(CONCAT(N''Redial etl: health, '', DB_NAME()), 128)),
    (LEFT(CONCAT(N''Redial etl: purge landing, '', DB_NAME()), 128)),
    (LEFT(CONCAT(N''Redial etl: purge inbox, '', DB_NAME()), 128)),
    (LEFT(CONCAT(N''Redial etl: purge poison, '', DB_NAME()), 128)),
    (LEFT(CONCAT(N''Redial etl: purge logs, '', DB_NAME()), 128)),
    (LEFT(CONCAT(N''Redial etl: purge send ledger, '', DB_NAME()), 128));
DECLARE @job nvarchar(128);
DECLARE @kind nvarchar(60);
DECLARE @lastJob nvarchar(128) = N'''';
WHILE 1 = 1
BEGIN
    SET @job = NULL;
    SELECT TOP (1) @job = o.Name, @kind = o.Kind
    FROM [etl].[OwnedObject] AS o
    WHERE o.Kind IN (N''AGENT JOB'', N''AGENT ALERT'')
      AND o.Name > @lastJob
      AND NOT EXISTS (SELECT 1 FROM @kept AS k WHERE k.Name = o.Name)
    ORDER BY o.Name;
    IF @job IS NULL
        BREAK;
    SET @lastJob = @job;

    BEGIN TRY
        /* As it was named, cut to 128 characters where the database''s name is long. */
        IF @job <> LEFT(CONCAT(LEFT(@job, CHARINDEX(N'', '', @job) + 1), DB_NAME()), 128)
            PRINT CONCAT(@kind, N'' "'', @job, N''" is of another database, this one was copied or renamed: not touched.'');
        ELSE IF @kind = N''AGENT JOB''
            EXECUTE msdb.dbo.sp_delete_job @job_name = @job;
        ELSE
            EXECUTE msdb.dbo.sp_delete_alert @name = @job;
        DELETE FROM [etl].[OwnedObject] WHERE Kind = @kind AND Name = @job;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
            DELETE FROM [etl].[OwnedObject] WHERE Kind = @kind AND Name = @job;
        ELSE
            PRINT CONCAT(@kind, N'' "'', @job, N''" is of an earlier choice and was not deleted: '', ERROR_MESSAGE());
    END CATCH;
END;

');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'90_deployment.data.sql', 4, NULL, NULL,
N'/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'''') <> N''222bb2fe9fbbc7a31eb94543b81ee75da0da959f356b00b0f46eb2bf5cb5089d''
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N''etl'', N''0.1.0'', N''222bb2fe9fbbc7a31eb94543b81ee75da0da959f356b00b0f46eb2bf5cb5089d'');
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'92_agent_jobs.job.sql', 4, NULL, NULL,
N'/* SQL Server Agent jobs, where there is an Agent and we may make jobs; else what to schedule instead.
   Every command is safe at any time and as often as you like. A job''s name carries the database, and
   is in OwnedObject for uninstall. Deploying again sets commands and schedule; owner, and enabled or not,
   stay as you left them. Engine edition 4 is Express, which has the procedures in msdb and no Agent (F-174).
   - Owner: a member of sysadmin makes jobs for sa (SID 0x01, whatever its name) that run as the module
     user, so nothing runs as whoever happened to deploy, nor stops when that login goes. Anybody else can
     only make jobs of his own, which run as himself (page sp_add_jobstep, @database_user_name).
   - One step, in master: on a secondary replica the database itself may let nobody in. */
DECLARE @jobs TABLE (Task nvarchar(60) NOT NULL PRIMARY KEY, Command nvarchar(400) NOT NULL, Minutes int NOT NULL);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @mayAll bit = ISNULL(IS_SRVROLEMEMBER(N''sysadmin''), 0);
DECLARE @owner nvarchar(128) = SUSER_SNAME();
DECLARE @task nvarchar(60);
DECLARE @command nvarchar(400);
DECLARE @minutes int;
DECLARE @often nvarchar(40);
DECLARE @subday int;
DECLARE @start int;
DECLARE @job nvarchar(128);
DECLARE @note nvarchar(2048);
DECLARE @step nvarchar(max);
IF @mayAll = 1
    SET @owner = ISNULL(SUSER_SNAME(0x01), @owner);

/* Task, command, minutes between two runs; 0: once a day. */
INSERT INTO @jobs (Task, Command, Minutes)
VALUES
    (N''retire'', N''EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;'', 5),
    (N''health'', N''EXECUTE [etl].[usp_CheckHealth];'', 15),
    (N''purge landing'', N''EXECUTE [etl].[usp_PurgeLanding] @WhatIf = 0;'', 0),
    (N''purge inbox'', N''EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;'', 0),
    (N''purge poison'', N''EXECUTE [etl].[usp_PurgePoison] @WhatIf = 0;'', 0),
    (N''purge logs'', N''EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;'', 0),
    (N''purge send ledger'', N''EXECUTE [etl].[usp_PurgeSendLedger] @WhatIf = 0;'', 0);
WHILE EXISTS (SELECT 1 FROM @jobs)
BEGIN
    SELECT TOP (1) @task = j.Task, @command = j.Command, @minutes = j.Minutes FROM @jobs AS j ORDER BY j.Task;
    DELETE FROM @jobs WHERE Task = @task;
    SELECT @job = LEFT(CONCAT(N''Redial etl: '', @task, N'', '', @database), 128),
        @often = CASE @minutes WHEN 0 THEN N''once a day'' ELSE CONCAT(N''every '', @minutes, N'' minutes'') END,
        @step = CONCAT(N''DECLARE @database sysname = N'''''', REPLACE(@database, N'''''''', N''''''''''''), N'''''', @work nvarchar(max) = N'''''',
            N''IF IS_SRVROLEMEMBER(N''''''''sysadmin'''''''') = 1 EXECUTE AS USER = N''''''''etl_module'''''''';'', N'' '', REPLACE(@command, N'''''''', N''''''''''''), N'''''';'', N''
DECLARE @primary bit = NULL;
DECLARE @run nvarchar(300) = QUOTENAME(@database) + N''''.sys.sp_executesql'''';
/* Whoever may not ask (VIEW SERVER STATE) goes by what every login sees, and so does Managed Instance. Only
   "secondary" ends here: a job that cannot tell goes on, and fails where it cannot work. */
IF HAS_PERMS_BY_NAME(NULL, NULL, N''''VIEW SERVER STATE'''') = 1 AND CONVERT(int, SERVERPROPERTY(N''''EngineEdition'''')) <> 8
    EXECUTE sys.sp_executesql N''''SET @primary = sys.fn_hadr_is_primary_replica(@database);'''',
        N''''@database sysname, @primary bit OUTPUT'''', @database = @database, @primary = @primary OUTPUT;
ELSE IF CONVERT(nvarchar(128), DATABASEPROPERTYEX(@database, N''''Updateability'''')) = N''''READ_ONLY''''
        AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = @database AND d.group_database_id IS NOT NULL)
    SET @primary = 0;
IF @primary = 0
    PRINT N''''This is a secondary replica: the job runs on the primary. Nothing to do here.'''';
ELSE
    EXECUTE @run @work;
''),
        @subday = CASE @minutes WHEN 0 THEN 1 ELSE 4 END, @start = CASE @minutes WHEN 0 THEN 31000 ELSE 0 END;

    /* Whoever has no right to them sees none of msdb''s procedures. */
    SET @note = CASE WHEN CONVERT(int, SERVERPROPERTY(N''EngineEdition'')) IN (4, 5) THEN N''No Agent here.''
                     WHEN ISNULL(HAS_PERMS_BY_NAME(N''msdb.dbo.sp_add_job'', N''OBJECT'', N''EXECUTE''), 0) = 0
                          THEN CONCAT(N''No right to make Agent jobs. A sysadmin can run 92_agent_jobs.job.sql in '', QUOTENAME(@database), N'', which makes "'', @job, N''".'') END;
    IF @note IS NOT NULL
    BEGIN
        SET @note = CONCAT(@note, N'' Schedule yourself, '', @often, N'': sqlcmd -d "'', @database, N''" -b -I -Q "'', @command, N''"'');
        PRINT @note;
        CONTINUE;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'''') NOT LIKE N''Redial %, configuration etl'')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N''AGENT JOB'' AND o.Name = @job)
            THROW 50189, N''a job of this name is there and was not made by this configuration.'', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @owner_login_name = @owner, @description = N''Redial 0.1.0, configuration etl'';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N''(local)'';
            IF @mayAll = 0
                PRINT CONCAT(N''Job "'', @job, N''" belongs to '', @owner, N'', who deploys, and runs as that login. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job with another @owner_login_name, if it should outlive the login.'');
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_delete_jobstep @job_name = @job, @step_id = 0;      /* 0: all, of earlier versions too */
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
        END;
        EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = @task, @subsystem = N''TSQL'',
            @database_name = N''master'', @command = @step, @on_success_action = 1, @on_fail_action = 2;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N''AGENT JOB'' AND o.Name = @job)
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N''AGENT JOB'', @job);
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else''s job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N''Job "'', @job, N''" not made or changed: '', ERROR_MESSAGE(), N'' Schedule yourself, '', @often, N'': '', @command), 2048);
        PRINT @note;
        CONTINUE;
    END CATCH;

    /* The Agent starts no job whose owner is gone, and says so in its history only. */
    IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job AND SUSER_SNAME(j.owner_sid) IS NULL)
        PRINT CONCAT(N''Job "'', @job, N''" belongs to a login that is gone, so it cannot run. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job @job_name = N'''''', REPLACE(@job, N'''''''', N''''''''''''), N'''''', @owner_login_name = N'''''', SUSER_SNAME(0x01), N'''''';'');
END;
');
INSERT INTO @part (Name, FirstLine, Kind, ObjectName, PartText)
VALUES (N'93_settings.data.sql', 4, NULL, NULL,
N'/* The choices installed from here on, and the gate that 38_change has closed, in one transaction: a
   deployment that stops before it is still the change of choices it was. Changes only what differs. */
SET XACT_ABORT ON;

DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N''config_id'', N''1'', 1),
    (N''conversation.key'', N''pool'', 1),
    (N''conversation.recycle'', N''aged_out'', 1),
    (N''conversation.timer_strategy'', N''two_phase'', 1),
    (N''conversation.order'', N''conversation'', 1),
    (N''conversation.delivery'', N''exactly_once'', 1),
    (N''conversation.copies'', N''until_landed'', 1),
    (N''envelope.who'', N''0'', 1),
    (N''contract.end_of_stream'', N''EndOfStream'', 1),
    (N''services.initiator'', N''//redial/etl/initiator'', 1),
    (N''services.target'', N''//redial/etl/target'', 1),
    (N''queues.initiator'', N''InitiatorQueue'', 1),
    (N''queues.target'', N''TargetQueue'', 1),
    (N''target.database'', N'''', 1),
    (N''pool.size'', N''16'', 0),
    (N''target.processing'', N''land'', 0),
    (N''conversation.encryption'', N''0'', 0),
    (N''conversation.lifetime_seconds'', N''604800'', 0),
    (N''contract.name'', N''//redial/etl/contract'', 0),
    (N''roles.module'', N''etl_module'', 0);

BEGIN TRANSACTION;
UPDATE st
SET Value = w.Value, ChangedUtc = SYSUTCDATETIME()
FROM [etl].[Setting] AS st
INNER JOIN @wanted AS w ON w.Name = st.Name
WHERE st.Value IS NULL OR st.Value <> w.Value COLLATE Latin1_General_BIN2;   /* as 38_change compares (F-376) */

INSERT INTO [etl].[Setting] (Name, Value)
SELECT w.Name, w.Value
FROM @wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = w.Name);

IF EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N''deployment.gate'')
BEGIN
    /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
    UPDATE g
    SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N''deployment finished''
    FROM [etl].[Gate] AS g
    WHERE g.ConfigId = 1;
    DELETE FROM [etl].[Setting] WHERE Name = N''deployment.gate'';
END;
COMMIT TRANSACTION;
');

DECLARE @resource nvarchar(255) = N'redial deploy etl';
DECLARE @result int;
DECLARE @holder nvarchar(600) = N'';
DECLARE @ordinal int = 0;
DECLARE @text nvarchar(max);
DECLARE @name nvarchar(200) = N'the lock';
DECLARE @line int = 1;
DECLARE @said nvarchar(600);
DECLARE @parts int = (SELECT MAX(p.Ordinal) FROM @part AS p);
DECLARE @changes nvarchar(max) = N'';
DECLARE @made int = 0;
DECLARE @changed int = 0;
DECLARE @same int = 0;
DECLARE @attempt int = NULL;
DECLARE @begin nvarchar(max) = N'UPDATE [etl].[DeploymentAttempt] SET Outcome = N''abandoned'' WHERE Outcome = N''running'';
DELETE FROM [etl].[DeploymentAttempt] WHERE AttemptId <= (SELECT MAX(a.AttemptId) FROM [etl].[DeploymentAttempt] AS a) - 199;
INSERT INTO [etl].[DeploymentAttempt] (What, ToolVersion, HashBefore, HashAfter, PlannedChanges)
VALUES (N''install'', N''0.1.0'', (SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h ORDER BY h.DeploymentId DESC),
    N''222bb2fe9fbbc7a31eb94543b81ee75da0da959f356b00b0f46eb2bf5cb5089d'', NULLIF(@changes, N''''));
SET @attempt = SCOPE_IDENTITY();';
DECLARE @end nvarchar(max) = N'UPDATE [etl].[DeploymentAttempt] SET Outcome = @outcome, Message = @message, EndedUtc = SYSUTCDATETIME() WHERE AttemptId = @attempt;';
DECLARE @ends nvarchar(100) = N'@outcome nvarchar(10), @message nvarchar(2048), @attempt int';
DECLARE @number int;
DECLARE @message nvarchar(2048);

BEGIN TRY
    /* 1  May it be installed here, and by you? 05_preflight is compiled alone, and so is each part: this batch
          has only what SQL Server 2012 knows too, so that an older server is refused by its version. */
    SELECT @name = p.Name, @line = p.FirstLine, @text = p.PartText, @ordinal = p.Ordinal FROM @part AS p WHERE p.Ordinal = 1;
    EXECUTE sys.sp_executesql @text;
    EXECUTE sys.sp_executesql N'IF TRY_CONVERT(bit, SESSION_CONTEXT(N''redial.plan'')) = 1 SET @plan = 1;', N'@plan bit OUTPUT', @plan = @plan OUTPUT;

    /* 2  One deployment of this configuration at a time. The lock ends with the session, whatever happens. */
    IF @plan = 0
    BEGIN
        SET @name = N'the lock of deployments';
        SET @lockSeconds = 1000 * @lockSeconds;
        EXECUTE @result = sys.sp_getapplock @Resource = @resource, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = @lockSeconds;
        IF @result < 0
        BEGIN
            BEGIN TRY       /* who may not see other sessions is told without a name */
                SELECT TOP (1) @holder = CONCAT(N': session ', s.session_id, N', login ', LEFT(s.login_name, 60), N', host ', LEFT(ISNULL(s.host_name, N'unknown'), 40),
                    N', program ', LEFT(ISNULL(s.program_name, N'unknown'), 60))
                FROM sys.dm_tran_locks AS l
                INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
                WHERE l.resource_type = N'APPLICATION' AND l.resource_database_id = DB_ID() AND l.request_status = N'GRANT'
                  AND CHARINDEX(LEFT(@resource, 32), l.resource_description) > 0;
            END TRY
            BEGIN CATCH
                SET @holder = N'';
            END CATCH;
            SET @message = REPLACE(CONCAT(N'Another deployment of configuration etl is running', @holder, N' (sp_getapplock gave ', @result,
                N'). Nothing was done. Next: let it end, then run this script again.'), N'%', N'%%');   /* F-133 */
            THROW 50229, @message, 127;
        END;
    END;

    /* 3  What differs? The texts of modules (the catalog keeps them but for their first words, F-504), and whether
          tables and types are there. Line ends apart: tools write their own. */
    SET @name = N'the comparison';
    UPDATE p
    SET Tail = REPLACE(SUBSTRING(p.PartText, CHARINDEX(N'CREATE OR ALTER ', p.PartText) + 16 + LEN(p.Kind), 2147483647), NCHAR(13), N''),
        Found = REPLACE(OBJECT_DEFINITION(OBJECT_ID(p.ObjectName)), NCHAR(13), N'')
    FROM @part AS p
    WHERE p.Kind NOT IN (N'table', N'type');
    UPDATE p
    SET Change = CASE WHEN ISNULL(TYPE_ID(p.ObjectName), OBJECT_ID(p.ObjectName)) IS NULL THEN N'create'
                      WHEN p.Tail <> ISNULL(SUBSTRING(p.Found, (DATALENGTH(p.Found) - DATALENGTH(p.Tail)) / 2 + 1, 2147483647), N'') COLLATE Latin1_General_BIN2
                           OR m.uses_ansi_nulls = 0 OR m.uses_quoted_identifier = 0 THEN N'alter' END
    FROM @part AS p
    LEFT OUTER JOIN sys.sql_modules AS m ON m.object_id = OBJECT_ID(p.ObjectName)
    WHERE p.Kind IS NOT NULL;
    SELECT @made = SUM(CASE p.Change WHEN N'create' THEN 1 ELSE 0 END), @changed = SUM(CASE p.Change WHEN N'alter' THEN 1 ELSE 0 END),
        @same = SUM(CASE WHEN p.Change IS NULL THEN 1 ELSE 0 END)
    FROM @part AS p
    WHERE p.Kind IS NOT NULL;
    SET @ordinal = 0;
    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @ordinal = p.Ordinal, @said = CONCAT(p.Change, N' ', p.Kind, N' ', p.ObjectName)
        FROM @part AS p
        WHERE p.Ordinal > @ordinal AND p.Change IS NOT NULL
        ORDER BY p.Ordinal;
        IF @@ROWCOUNT = 0
            BREAK;
        PRINT @said;
        SET @changes = CONCAT(@changes, @said, NCHAR(10));
    END;
    IF @plan = 1
        PRINT CONCAT(N'Redial 0.1.0, configuration etl: plan. To create ', @made, N', to alter ', @changed, N', as they are ', @same,
            N'. Not compared: columns, indexes, queues, services, rights; their scripts make what is missing. Nothing was done.');

    /* 4  The parts, in order. The attempt is written down before the first change; at a first installation as soon
          as there is a table for it. An attempt that is still "running" while we hold the lock was cut off. */
    SET @ordinal = 1;
    WHILE @plan = 0 AND @ordinal < @parts
    BEGIN
        IF @attempt IS NULL AND OBJECT_ID(N'[etl].[DeploymentAttempt]', N'U') IS NOT NULL AND OBJECT_ID(N'[etl].[DeploymentHistory]', N'U') IS NOT NULL
        BEGIN
            SET @name = N'the history';
            EXECUTE sys.sp_executesql @begin, N'@changes nvarchar(max), @attempt int OUTPUT', @changes = @changes, @attempt = @attempt OUTPUT;
        END;
        SET @ordinal = @ordinal + 1;
        SELECT @name = p.Name, @line = p.FirstLine, @text = CASE WHEN p.Tail IS NULL OR p.Change IS NOT NULL THEN p.PartText END
        FROM @part AS p
        WHERE p.Ordinal = @ordinal;
        IF @text IS NULL
            CONTINUE;           /* a module that is as it is */
        RAISERROR (N'%d of %d: %s', 0, 1, @ordinal, @parts, @name) WITH NOWAIT;
        EXECUTE sys.sp_executesql @text;
    END;

    /* 5  A tool that connects with these off, and a server that reads SET otherwise than documented, would be seen here. */
    SET @name = N'the last look';
    IF @plan = 0
       AND EXISTS (SELECT 1 FROM sys.sql_modules AS m
                   INNER JOIN sys.objects AS o ON o.object_id = m.object_id
                   INNER JOIN @part AS p ON OBJECT_ID(p.ObjectName) = o.object_id
                   WHERE m.uses_ansi_nulls = 0 OR m.uses_quoted_identifier = 0)
        THROW 50220, N'A module was made with ANSI_NULLS or QUOTED_IDENTIFIER off, and would fail at XML values.', 127;
    IF @attempt IS NOT NULL
        EXECUTE sys.sp_executesql @end, @ends, @outcome = N'finished', @message = NULL, @attempt = @attempt;
    IF @plan = 0
        PRINT CONCAT(N'Redial 0.1.0, configuration etl: installed. Created ', @made, N', altered ', @changed, N', as they were ', @same, N'; attempt ', @attempt, N'.');
END TRY
BEGIN CATCH
    SET @number = CASE WHEN ERROR_NUMBER() >= 50000 THEN ERROR_NUMBER() ELSE 50220 END;
    SET @message = CONCAT(CASE @number WHEN 50220 THEN CONCAT(N'Error ', ERROR_NUMBER(), N': ') ELSE N'' END, LEFT(ERROR_MESSAGE(), 1600));
    IF @number <> 50229 AND @ordinal > 1
        SET @message = CONCAT(@message, N' NOT installed: stopped in ', @name, N', line ', @line + ERROR_LINE() - 1, N' of ', ISNULL(ERROR_PROCEDURE(), N'it'),
            CASE ERROR_NUMBER() WHEN 5069 THEN N'. The server has said why before, and only to who runs that statement by itself' ELSE N'' END,
            N'. Next: remove the cause, then run this script again.');
    IF XACT_STATE() <> 0
        ROLLBACK TRANSACTION;
    IF @attempt IS NOT NULL
    BEGIN
        BEGIN TRY
            EXECUTE sys.sp_executesql @end, @ends, @outcome = N'failed', @message = @message, @attempt = @attempt;
        END TRY
        BEGIN CATCH
            SET @attempt = NULL;        /* the row stays "running", and the next attempt calls it abandoned */
        END CATCH;
    END;
END CATCH;

/* Whatever happened, a window of SSMS must not keep the lock; a run that was cancelled in it left one more. */
WHILE APPLOCK_MODE(N'public', @resource, N'Session') <> N'NoLock'
    EXECUTE sys.sp_releaseapplock @Resource = @resource, @LockOwner = N'Session';
IF @implicit <> 0
    SET IMPLICIT_TRANSACTIONS ON;
IF @number IS NOT NULL
BEGIN
    SET @message = REPLACE(@message, N'%', N'%%');      /* F-133 */
    THROW @number, @message, 127;       /* state 127: sqlcmd ends, and not with 0, without -b too (F-493) */
END;
