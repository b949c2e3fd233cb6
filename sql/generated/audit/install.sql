/* Redial 0.1.0, configuration audit: the whole installation. Run it in the database it is for; run it
   again after an error. The first error stops it: what follows is compiled and not executed. It
   ends with the line "installed"; without that line it is not. */
SET NOEXEC OFF;                         /* of an earlier run in the same window */
SET XACT_ABORT ON;                      /* a batch ends at its first error, so @@ERROR shows it */
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
GO
-- 05_01_deployer.check.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* May the deployer do all of what follows, and are the principals what they must be? Asked before
   anything is done, because a deployment that stops half-way through is the harder thing to explain. */
DECLARE @errors nvarchar(4000) = N'';
DECLARE @missing nvarchar(2000) = N'';

/* ----------------------------------------------------------------------------------------- */
/* 1  Rights. CONTROL covers the rest: CREATE for every kind of object, AUTHORIZATION and       */
/*    EXECUTE AS another user (IMPERSONATE), GRANT, ALTER DATABASE. The others only tell what   */
/*    is missing. Membership in a fixed role is changed by members of db_owner (ALTER ROLE page) */
/* ----------------------------------------------------------------------------------------- */
IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL'), 0) = 0
BEGIN
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE SCHEMA'), 0) = 0
        SET @missing = @missing + N', CREATE SCHEMA';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE TABLE'), 0) = 0
        SET @missing = @missing + N', CREATE TABLE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE PROCEDURE'), 0) = 0
        SET @missing = @missing + N', CREATE PROCEDURE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE QUEUE'), 0) = 0
        SET @missing = @missing + N', CREATE QUEUE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE SERVICE'), 0) = 0
        SET @missing = @missing + N', CREATE SERVICE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE CONTRACT'), 0) = 0
        SET @missing = @missing + N', CREATE CONTRACT';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE MESSAGE TYPE'), 0) = 0
        SET @missing = @missing + N', CREATE MESSAGE TYPE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE ROLE'), 0) = 0
        SET @missing = @missing + N', CREATE ROLE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'ALTER ANY USER'), 0) = 0
        SET @missing = @missing + N', ALTER ANY USER';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'ALTER ANY SCHEMA'), 0) = 0
        SET @missing = @missing + N', ALTER ANY SCHEMA';
    SET @missing = N'CONTROL on the database' + @missing;
END
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND ISNULL(IS_ROLEMEMBER(N'db_owner', N'audit_module'), 0) = 0
    SET @missing = N'membership in db_owner (only members change that role, and this configuration adds one)';

IF @missing <> N''
BEGIN
    SET @errors = LEFT(CONCAT(N'User ', QUOTENAME(USER_NAME()), N' of database ', QUOTENAME(DB_NAME()),
        N' cannot deploy configuration audit. Missing: ', @missing,
        N'. Nothing was done. Next: have a member of db_owner deploy, or let one run ALTER ROLE [db_owner] ADD MEMBER ',
        QUOTENAME(USER_NAME()), N';'), 2000);
    SET @errors = REPLACE(@errors, N'%', N'%%');   /* F-133 */
    THROW 50200, @errors, 1;
END;

/* ----------------------------------------------------------------------------------------- */
/* 2  Principals that are there already must be of the kind we would make                      */
/* ----------------------------------------------------------------------------------------- */
SELECT @errors = CONCAT(@errors, N'[roles].module ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc, N'_', N' ')),
    N' somebody can log in as or nobody can run as; allowed: a new name, or a user without login. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'audit_module'
  AND NOT (dp.type = 'S' AND dp.authentication_type = 0 AND dp.principal_id > 4);
SELECT @errors = CONCAT(@errors, N'[roles].sender ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc, N'_', N' ')),
    CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END, N'; allowed: a new name, or a database role of yours. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'audit_sender'
  AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0);
SELECT @errors = CONCAT(@errors, N'[roles].operator ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc, N'_', N' ')),
    CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END, N'; allowed: a new name, or a database role of yours. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'audit_operator'
  AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0);
SELECT @errors = CONCAT(@errors, N'[roles].reader ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc, N'_', N' ')),
    CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END, N'; allowed: a new name, or a database role of yours. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'audit_reader'
  AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0);

IF @errors <> N''
BEGIN
    SET @errors = REPLACE(LEFT(CONCAT(RTRIM(@errors), N' Nothing was done. Next: change the names in the configuration, render, deploy.'), 2000), N'%', N'%%');
    THROW 50202, @errors, 1;
END;

/* ----------------------------------------------------------------------------------------- */
/* 3  One principal per configuration: an owner of two could end the conversations of both     */
/* ----------------------------------------------------------------------------------------- */
SELECT TOP (1) @errors = CONCAT(N'[roles].module ', QUOTENAME(dp.name), N' owns schema ', QUOTENAME(s.name),
    N' as well, so the procedures of this configuration could change what is in it. Nothing was done. ',
    N'Next: another name for [roles].module, render, deploy.')
FROM sys.database_principals AS dp
INNER JOIN sys.schemas AS s ON s.principal_id = dp.principal_id
WHERE dp.name = N'audit_module'
  AND s.schema_id <> ISNULL(SCHEMA_ID(N'audit'), -1)
ORDER BY s.schema_id;

IF @errors <> N''
BEGIN
    SET @errors = REPLACE(LEFT(@errors, 2000), N'%', N'%%');
    THROW 50203, @errors, 1;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 10_broker.option.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Service Broker must be on. ENABLE_BROKER keeps the broker's guid and needs the database for
   itself, hence ROLLBACK IMMEDIATE (F-101): where the broker is off, every other session of the
   database is cut off, once. Switch it on in a quiet hour before the first deployment to avoid that.
   A restored copy beside its original is refused (9772): only you can know whether it may have
   NEW_BROKER, which deletes its conversations. Managed Instance (engine edition 8) has it on and
   refuses the statement (F-102), so it is issued only where it is off and may be switched. */
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) <> 8
   AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 0)
BEGIN
    ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 20_01_module.user.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The one principal every procedure of this configuration runs as: a user nobody can log in with.
   It owns the schema, the services and the contract, so ownership gives it all it needs and the
   application is granted EXECUTE on usp_Send alone. */
IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NULL
BEGIN
    CREATE USER [audit_module] WITHOUT LOGIN;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* sys.transmission_queue shows no row to anyone outside db_owner (F-113), and a row that cannot be
   seen cannot be accounted for. Without this membership usp_ResendPending refuses to end. */
IF ISNULL(IS_ROLEMEMBER(N'db_owner', N'audit_module'), 0) = 0   /* NULL: may not be seen */
BEGIN
    ALTER ROLE [db_owner] ADD MEMBER [audit_module];
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 20_02_schema.schema.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF SCHEMA_ID(N'audit') IS NULL
BEGIN
    EXECUTE sys.sp_executesql
        N'CREATE SCHEMA [audit] AUTHORIZATION [audit_module];';
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* A schema that was there before keeps its owner; the module user needs its objects all the same.
   Only then: a grant to the owner itself is refused with message 4624 (F-140). */
IF EXISTS (SELECT 1 FROM sys.schemas AS s
           WHERE s.name = N'audit'
             AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    GRANT CONTROL ON SCHEMA::[audit] TO [audit_module];
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 20_03_roles.role.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NULL
BEGIN
    CREATE ROLE [audit_sender];
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NULL
BEGIN
    CREATE ROLE [audit_operator];
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NULL
BEGIN
    CREATE ROLE [audit_reader];
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_ConversationLog.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per dialog this side began: without it nobody can audit what was sent.
   Lock rule: the sender only inserts the row of a dialog it began in the same transaction; every
   later change is made by a transaction that owns the dialog's conversation group. So a row of this
   table is never waited for while its owner waits for the group (F-127). */
IF OBJECT_ID(N'[audit].[ConversationLog]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[ConversationLog]
    (
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NULL,
        ResendOf uniqueidentifier NULL,
        BegunUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_ConversationLog_BegunUtc] DEFAULT (SYSUTCDATETIME()),
        EndOfStreamUtc datetime2(3) NULL,
        EndedUtc datetime2(3) NULL,
        Messages bigint NULL,
        Resent bigint NULL,
        DeadLettered bigint NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        CONSTRAINT [PK_ConversationLog] PRIMARY KEY CLUSTERED (Handle)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    ALTER TABLE [audit].[ConversationLog] SET (LOCK_ESCALATION = DISABLE);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_DeadLetter.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages that were neither landed nor resent: byte-exact, with the code and the sequence. */
IF OBJECT_ID(N'[audit].[DeadLetter]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[DeadLetter]
    (
        DeadLetterId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_DeadLetter_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Side nvarchar(10) NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NULL,
        Body varbinary(max) NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        CONSTRAINT [PK_DeadLetter] PRIMARY KEY CLUSTERED (DeadLetterId)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_DeploymentHistory.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[audit].[DeploymentHistory]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[DeploymentHistory]
    (
        DeploymentId int IDENTITY (1, 1) NOT NULL,
        DeployedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_DeploymentHistory_DeployedUtc] DEFAULT (SYSUTCDATETIME()),
        DeployedBy nvarchar(128) NOT NULL
            CONSTRAINT [DF_DeploymentHistory_DeployedBy] DEFAULT (ORIGINAL_LOGIN()),
        ConfigName nvarchar(128) NOT NULL,
        Version nvarchar(30) NOT NULL,
        ContentHash char(64) NOT NULL,
        CONSTRAINT [PK_DeploymentHistory] PRIMARY KEY CLUSTERED (DeploymentId)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_ErrorLog.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What went wrong and what to do next. Activated procedures write here instead of RAISERROR WITH
   LOG, which their principal may not use (2778, F-117). */
IF OBJECT_ID(N'[audit].[ErrorLog]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[ErrorLog]
    (
        ErrorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_ErrorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        ProcedureName nvarchar(128) NOT NULL,
        ConversationHandle uniqueidentifier NULL,
        MessageSequence bigint NULL,
        ErrorNumber int NULL,
        ErrorLine int NULL,
        ErrorMessage nvarchar(4000) NULL,
        CONSTRAINT [PK_ErrorLog] PRIMARY KEY CLUSTERED (ErrorLogId)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_Gate.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The drain gate: one row. Closed, usp_Send refuses (50102). A sender reads it after it holds what a
   drain will ask for (its row R), so a sender that saw it open is finished before the drain is. */
IF OBJECT_ID(N'[audit].[Gate]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[Gate]
    (
        ConfigId int NOT NULL,
        IsOpen bit NOT NULL,
        ChangedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Gate_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        ChangedBy nvarchar(128) NOT NULL
            CONSTRAINT [DF_Gate_ChangedBy] DEFAULT (ORIGINAL_LOGIN()),
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_Gate] PRIMARY KEY CLUSTERED (ConfigId)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    ALTER TABLE [audit].[Gate] SET (LOCK_ESCALATION = DISABLE);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM [audit].[Gate] AS g WHERE g.ConfigId = 1)
BEGIN
    INSERT INTO [audit].[Gate] (ConfigId, IsOpen)
    VALUES (1, 1);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_Landing.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What arrived, in full: user messages and the EndOfStream, EndDialog and Error rows too.
   Insert-only. A rowversion is given once, at the insert, and never changes here, so it is both the
   clustered key and the range readers ask for (rows with from <= RowVersion < mark).
   Body is byte-exact; NULL stands for a message without a body and for an empty one, which the
   broker does not tell apart (F-107).
   ConversationKey, KeySequence and MessageId are filled by the choices that carry them. */
IF OBJECT_ID(N'[audit].[Landing]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[Landing]
    (
        RowVersion rowversion NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        LandedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Landing_LandedUtc] DEFAULT (SYSUTCDATETIME()),
        ConversationKey nvarchar(200) NULL,
        KeySequence bigint NULL,
        MessageId uniqueidentifier NULL,
        CONSTRAINT [PK_Landing] PRIMARY KEY CLUSTERED (RowVersion)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_LandingAcknowledged.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* How far each reader of Landing has got: rows below the least of these marks may be purged. UpTo is
   a mark as readers take it (rows with RowVersion < UpTo are done with), not the last row read. */
IF OBJECT_ID(N'[audit].[LandingAcknowledged]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[LandingAcknowledged]
    (
        Reader nvarchar(128) NOT NULL,
        UpTo binary(8) NOT NULL,
        ChangedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_LandingAcknowledged_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_LandingAcknowledged] PRIMARY KEY CLUSTERED (Reader)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_Migration.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Which numbered migrations (35_) have changed the tables of this schema. */
IF OBJECT_ID(N'[audit].[Migration]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[Migration]
    (
        Number int NOT NULL,
        Name nvarchar(128) NOT NULL,
        AppliedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Migration_AppliedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Migration] PRIMARY KEY CLUSTERED (Number)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_OperatorLog.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators did, who and why: gate closed, dead letters replayed or purged, dialogs ended. */
IF OBJECT_ID(N'[audit].[OperatorLog]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[OperatorLog]
    (
        OperatorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_OperatorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Login nvarchar(128) NOT NULL
            CONSTRAINT [DF_OperatorLog_Login] DEFAULT (ORIGINAL_LOGIN()),
        Action nvarchar(60) NOT NULL,
        Detail nvarchar(3000) NULL,
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_OperatorLog] PRIMARY KEY CLUSTERED (OperatorLogId)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_OwnedObject.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Database-wide objects this configuration created (services, contract, message types have no
   schema). Uninstall drops these and nothing else. */
IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[OwnedObject]
    (
        Kind nvarchar(30) NOT NULL,
        Name nvarchar(128) NOT NULL,
        CreatedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_OwnedObject_CreatedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_OwnedObject] PRIMARY KEY CLUSTERED (Kind, Name)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_PoisonAttempt.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* How often a queue row made its transaction roll back. A row that reached the limit is
   dead-lettered unprocessed by whoever receives it next, so no row can bring the queue to the five
   rollbacks that switch it off (F-118). */
IF OBJECT_ID(N'[audit].[PoisonAttempt]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[PoisonAttempt]
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
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_SessionConversations.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Which dialog a key sends on. The row is the token of the dialog: whoever deletes it may send
   EndOfStream, once (F-128).
   - Clustered key of 404 bytes at most: four service-sized columns (1,024 bytes) would not fit the
     900 bytes of a clustered key.
   - ConversationKey has the database's collation, so that joins with other tables raise no 468; keys
     it holds equal share a dialog, which only lets their senders wait for each other.
   - Handle is unique apart from the key, so it has an index and locks of its own (F-120). That
     index is never locked before the clustered key: see usp_RecycleConversation.
   - No page locks, no escalation: a lock on this table is a lock on one row (F-121).
   - No trigger, foreign key or indexed view may ever be put on this table: each takes locks that
     the proof in docs/facts.md (F-127) does not know. */
IF OBJECT_ID(N'[audit].[SessionConversations]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[SessionConversations]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        Handle uniqueidentifier NOT NULL,
        CONSTRAINT [PK_SessionConversations] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    CREATE UNIQUE NONCLUSTERED INDEX [UX_SessionConversations_Handle]
        ON [audit].[SessionConversations] (Handle)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [audit].[SessionConversations] SET (LOCK_ESCALATION = DISABLE);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 30_Setting.table.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The choices installed now: what a later deployment compares itself with. */
IF OBJECT_ID(N'[audit].[Setting]', N'U') IS NULL
BEGIN
    CREATE TABLE [audit].[Setting]
    (
        Name nvarchar(60) NOT NULL,
        Value nvarchar(400) NULL,
        ChangedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Setting_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_Setting] PRIMARY KEY CLUSTERED (Name)
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 35_01_SessionConversations_ages.migration.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 1: when a dialog is to be replaced; which slots of a pool are unused or taken.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [audit].[Migration] AS m WHERE m.Number = 1)
BEGIN
    BEGIN TRANSACTION;
    ALTER TABLE [audit].[SessionConversations] ADD
        BegunUtc datetime2(3) NULL,             /* pool: NULL stands for an unused slot */
        RecycleAtUtc datetime2(3) NULL,         /* aged_out: replaced by the first send after this */
        RecycleAtMessages bigint NULL,          /* aged_out: or after this many messages */
        TransactionId bigint NULL;              /* pool: who took the slot last */
    INSERT INTO [audit].[Migration] (Number, Name)
    VALUES (1, N'SessionConversations_ages');
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 35_02_Landing_sender.migration.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 2: who sent a message and when, out of its envelope.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [audit].[Migration] AS m WHERE m.Number = 2)
BEGIN
    BEGIN TRANSACTION;
    ALTER TABLE [audit].[Landing] ADD
        SentUtc datetime2(3) NULL,
        SenderLogin nvarchar(128) NULL,
        SenderApp nvarchar(128) NULL,
        SenderHost nvarchar(128) NULL;
    INSERT INTO [audit].[Migration] (Number, Name)
    VALUES (2, N'Landing_sender');
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 35_03_DeadLetter_handling.migration.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 3: what an operator did with a dead letter, who and why.
   Additive, in one transaction, and looked up before it runs: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [audit].[Migration] AS m WHERE m.Number = 3)
BEGIN
    BEGIN TRANSACTION;
    ALTER TABLE [audit].[DeadLetter] ADD
        HandledUtc datetime2(3) NULL,
        HandledBy nvarchar(128) NULL,
        Handling nvarchar(10) NULL,
        HandlingReason nvarchar(400) NULL;
    INSERT INTO [audit].[Migration] (Number, Name)
    VALUES (3, N'DeadLetter_handling');
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 40_01_message_types.message_type.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'//redial/audit/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/audit/event]
        AUTHORIZATION [audit_module]
        VALIDATION = NONE;
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'//redial/audit/event');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream]
        AUTHORIZATION [audit_module]
        VALIDATION = EMPTY;
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'MESSAGE TYPE', N'EndOfStream');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 40_02_contract.contract.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One way: every type is sent by the initiator. */
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name = N'//redial/audit/contract')
BEGIN
    CREATE CONTRACT [//redial/audit/contract]
        AUTHORIZATION [audit_module]
    (
        [//redial/audit/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'CONTRACT', N'//redial/audit/contract');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 50_queues.queue.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* POISON_MESSAGE_HANDLING stays on: no path of ours rolls a RECEIVE back in normal work, so five
   rollbacks mean a fault that must stop the queue rather than spin (F-118). */
IF OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ') IS NULL
BEGIN
    CREATE QUEUE [audit].[InitiatorQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF OBJECT_ID(N'[audit].[TargetQueue]', N'SQ') IS NULL
BEGIN
    CREATE QUEUE [audit].[TargetQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 60_services.service.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service (F-112), and an owner needs no grant. */
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/audit/initiator')
BEGIN
    CREATE SERVICE [//redial/audit/initiator]
        AUTHORIZATION [audit_module]
        ON QUEUE [audit].[InitiatorQueue];
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/audit/initiator');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/audit/target')
BEGIN
    CREATE SERVICE [//redial/audit/target]
        AUTHORIZATION [audit_module]
        ON QUEUE [audit].[TargetQueue] ([//redial/audit/contract]);
    INSERT INTO [audit].[OwnedObject] (Kind, Name) VALUES (N'SERVICE', N'//redial/audit/target');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 65_MessageBatch.type.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages of one call of usp_SendBatch, sent in the order of Ordinal. Every column is wider than what
   may be in it, so that a wrong value gets an error of ours that names its ordinal, and not the
   server's 8152, which names nothing. */
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'audit') AND tt.name = N'MessageBatch')
BEGIN
    CREATE TYPE [audit].[MessageBatch] AS TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY CLUSTERED,     /* any numbers, gaps too; each once */
        MessageType nvarchar(256) NULL,                 /* required, as in usp_Send */
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 65_ReceivedBatch.type.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Rows of one RECEIVE, numbered in queue order, as usp_LandBatch and usp_FindPoison take them. */
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'audit') AND tt.name = N'ReceivedBatch')
BEGIN
    CREATE TYPE [audit].[ReceivedBatch] AS TABLE
    (
        RowId int IDENTITY (1, 1) NOT NULL PRIMARY KEY CLUSTERED,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 70_usp_ArmTimer.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ArmTimer]
    @handle uniqueidentifier,
    @seconds int
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
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
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 70_usp_LogError.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LogError]
    @procedureName nvarchar(128),
    @handle uniqueidentifier = NULL,    /* the conversation it happened on, if any */
    @sequence bigint = NULL,            /* of the message it happened with, if any */
    @message nvarchar(4000) = NULL      /* NULL: the error of the CATCH block this is called from */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
BEGIN
    SET NOCOUNT ON;

    INSERT INTO [audit].[ErrorLog]
        (ProcedureName, ConversationHandle, MessageSequence, ErrorNumber, ErrorLine, ErrorMessage)
    VALUES
        (@procedureName, @handle, @sequence, ERROR_NUMBER(), ERROR_LINE(), ISNULL(@message, ERROR_MESSAGE()));
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 70_usp_ReadErrorBody.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ReadErrorBody]
    @messageBody varbinary(max),
    @code int OUTPUT,                   /* NULL when the body cannot be read */
    @description nvarchar(3000) OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Code and description of an Error message. Never casts: a malformed body must not doom the
   transaction that received it (F-115), so every conversion is a TRY_ one. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @body xml = TRY_CONVERT(xml, @messageBody);

    WITH XMLNAMESPACES ('http://schemas.microsoft.com/SQL/ServiceBroker/Error' AS ssb)
    SELECT
        @code = TRY_CONVERT(int, @body.value('(/ssb:Error/ssb:Code)[1]', 'nvarchar(20)')),
        @description = @body.value('(/ssb:Error/ssb:Description)[1]', 'nvarchar(3000)');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 70_usp_RecordPoison.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RecordPoison]
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256)
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Counts one rollback against one queue row, in a transaction of its own: called from a CATCH block
   after the rollback, so the count outlives it. */
BEGIN
    SET NOCOUNT ON;

    UPDATE [audit].[PoisonAttempt]
    SET Attempts = Attempts + 1,
        LastUtc = SYSUTCDATETIME(),
        ErrorNumber = ERROR_NUMBER(),
        ErrorMessage = LEFT(ERROR_MESSAGE(), 3000)
    WHERE ConversationHandle = @handle
      AND MessageSequence = @sequence
      AND MessageType = @messageType;

    IF @@ROWCOUNT = 0
    BEGIN
        INSERT INTO [audit].[PoisonAttempt]
            (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc, ErrorNumber, ErrorMessage)
        VALUES
            (@handle, @sequence, @messageType, 1, SYSUTCDATETIME(), ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 70_usp_SeesPending.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SeesPending]
    @sees bit OUTPUT                    /* 1: rows of sys.transmission_queue are shown to us, 0: hidden */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* What usp_ResendPending and usp_EndLeaked ask before they trust an empty sys.transmission_queue: the
   view is filtered by this very function (F-113). Asked here by a deployment (50201) and by verify:
   whether a signature counts in it is unknown (F-180). */
BEGIN
    SET NOCOUNT ON;

    SET @sees = ISNULL(IS_MEMBER(N'db_owner'), 0);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 70_usp_SendEndOfStream.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SendEndOfStream]
    @handle uniqueidentifier
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Closes a dialog: the target ends it when it has read everything before. Only for a transaction that
   has made sure that nobody sends on it any more, because it deleted or changed the row that led to
   it, or began the dialog itself: then EndOfStream is sent once and nothing follows it (F-128).
   Takes G, then the dialog's row of ConversationLog (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @sent bigint = NULL;

    IF @@TRANCOUNT = 0
        THROW 50121, N'usp_SendEndOfStream must be called inside the transaction that took the conversation from its senders.', 1;

    SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];

    SELECT @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own change, under G; never wait while holding R and G (F-126) */
    WHERE ce.conversation_handle = @handle;

    /* The last number given went to EndOfStream; numbers start at 0. */
    UPDATE cl
    SET EndOfStreamUtc = SYSUTCDATETIME(),
        Messages = @sent - 1
    FROM [audit].[ConversationLog] AS cl
        WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only */
    WHERE cl.Handle = @handle;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_01_usp_BeginConversation.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @rowHandle uniqueidentifier,        /* what the key's row holds now: a placeholder or a dead handle */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Begins a dialog and puts its handle into the row of a key. Called inside a transaction that holds
   the row R: row first, conversation group second, as everywhere on this side (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @newHandle uniqueidentifier = NULL;
    /* A random spread, so that dialogs begun together are not recycled together. Two bytes of a
       fresh GUID are 0..65535 and never negative. */
    DECLARE @timeout int = 3600
        + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601;

    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 1  The dialog                                                                           */
        /* ------------------------------------------------------------------------------------- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/audit/initiator]
            TO SERVICE N'//redial/audit/target'
            ON CONTRACT [//redial/audit/contract]
            WITH LIFETIME = 2592000, ENCRYPTION = OFF;

        /* The timer that will recycle it. */
        BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        /* ------------------------------------------------------------------------------------- */
        /* 2  The handle into the row                                                              */
        /* ------------------------------------------------------------------------------------- */
        UPDATE sc
        SET Handle = @newHandle
        FROM [audit].[SessionConversations] AS sc
            /* INDEX, FORCESEEK: both columns below are unique, and a seek by Handle would lock the
               Handle index before the row (F-120); a scan would stop at other sessions' rows.
               ROWLOCK: one row, nothing wider (F-121). Proved by the explorer's send scenarios. */
            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @conversationKey
          AND sc.Handle = @rowHandle;

        /* ------------------------------------------------------------------------------------- */
        /* 3  The audit row. Only ever inserted here (see ConversationLog)                          */
        /* ------------------------------------------------------------------------------------- */
        INSERT INTO [audit].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        SELECT @newHandle,
            (SELECT ce.conversation_id      /* NULL where it is not visible; the row comes all the same */
             FROM sys.conversation_endpoints AS ce
                 WITH (NOLOCK)  /* our own row, just made; never wait here while holding R and G (F-126) */
             WHERE ce.conversation_handle = @newHandle),
            1, @conversationKey;

        SET @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a dialog nobody knows. In a
           transaction of our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1 AND @newHandle IS NOT NULL
        BEGIN
            END CONVERSATION @newHandle;
        END;

        THROW;
    END CATCH;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_02_usp_AcquireConversation.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* what this call has found dead already; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* The dialog to send on, found by the row of its key, or begun. Called inside a transaction, which then
   owns the row R to its end: nobody closes the dialog before the caller's SEND commits.
   Raises 2627 when another transaction made the key's row meanwhile (look it up again), 50102 when the
   gate is closed. Locks: R; then the groups of dialogs closed or begun here (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @rowHandle uniqueidentifier = NULL;
    DECLARE @placed bit = 0;            /* 1: the row is ours, a placeholder, not yet with a dialog */
    DECLARE @state char(2) = NULL;

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;

    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 1  R                                                                                    */
        /* ------------------------------------------------------------------------------------- */
        SET @handle = NULL;
        SELECT @handle = sc.Handle
        FROM [audit].[SessionConversations] AS sc
            /* UPDLOCK: nobody deletes the row, hence nobody sends EndOfStream, before the caller's
               SEND commits; S locks would deadlock on conversion (F-122).
               ROWLOCK, INDEX, FORCESEEK: this one row by its clustered key; a scan would stop
               at every other session's row (F-121). Proved by the explorer: without UPDLOCK the
               message after EndOfStream is found. */
            WITH (UPDLOCK, ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @conversationKey;

        SET @rowHandle = @handle;

        /* ------------------------------------------------------------------------------------- */
        /* 2  First use: the row comes before the dialog, with a placeholder that is unique        */
        /* ------------------------------------------------------------------------------------- */
        IF @rowHandle IS NULL
        BEGIN
            SET @rowHandle = NEWID();

            /* A key taken meanwhile must not doom what the caller did before. For this statement
               only: with XACT_ABORT OFF a client's cancel leaves the transaction open. */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
            VALUES (1, @conversationKey, @rowHandle);
            SET @placed = 1;

            IF @callerAborts = 1
                SET XACT_ABORT ON;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 3  The gate, read after R is held: a drain closes it first and passes over R after (F-148) */
        /* ------------------------------------------------------------------------------------- */
        IF EXISTS (SELECT 1
                   FROM [audit].[Gate] AS g
                       WITH (FORCESEEK)     /* its one row; a plain read of what is committed */
                   WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ------------------------------------------------------------------------------------- */
        /* 4  A look at the state keeps dead handles rare. NULL (not visible, or gone) is left to     */
        /*    SEND: taking it for dead could begin a dialog per message                              */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)   /* whether a plain read waits for an END is unknown; we hold R (F-126) */
            WHERE ce.conversation_handle = @handle;
        END;

        /* ------------------------------------------------------------------------------------- */
        /* 5  First use, or a dialog of no more use: begin one in the same row                      */
        /* ------------------------------------------------------------------------------------- */
        IF @placed = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
        BEGIN
            EXECUTE [audit].[usp_BeginConversation]
                @conversationKey = @conversationKey,
                @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction,
                @handle = @handle OUTPUT;
        END;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a placeholder. In a transaction of
           our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND @placed = 1 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [audit].[SessionConversations] AS sc
                WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as above: one row */
            WHERE sc.ConfigId = 1
              AND sc.ConversationKey = @conversationKey
              AND sc.Handle = @rowHandle;
        END;

        THROW;
    END CATCH;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_03_usp_Send.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_Send]
    @fromService sysname,
    @toService sysname,
    @onContract sysname,
    @messageType sysname,
    @messageBody varbinary(max),        /* NULL and empty are both sent without a body (F-107) */
    @key nvarchar(4000) = NULL,         /* not used with key = spid: must be NULL */
    @messageId uniqueidentifier = NULL  /* not used with delivery = at_least_once: must be NULL */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Sends one message on a conversation that usp_AcquireConversation finds, or raises: it never returns 0
   without the message being part of the transaction. Returns 0; answers by no result set.
   Locks: the row R that leads to the conversation, then the conversation group G, all kept to the
   end of the transaction (the caller's if there is one). Nothing else is waited for. */
BEGIN
    SET NOCOUNT ON;
    /* Callers come SERIALIZABLE (range locks would tie sessions together), SNAPSHOT (3960) and READ
       UNCOMMITTED. Ends with this procedure (F-116). A SNAPSHOT transaction should have read something
       before its first send, or its own next statement may fail with 3951 (F-144). */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(4000) = N'';
    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @conversationKey nvarchar(200) = CONVERT(nvarchar(200), @@SPID);
    DECLARE @handle uniqueidentifier;
    DECLARE @deadHandle uniqueidentifier = NULL;
    DECLARE @error int;
    DECLARE @attempt int = 0;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: every wrong one is named, then one error is raised                               */
    /* ----------------------------------------------------------------------------------------- */
    IF ISNULL(@fromService, N'') <> N'//redial/audit/initiator'
        SET @errors = @errors + N'@fromService must be ''//redial/audit/initiator''. ';
    IF ISNULL(@toService, N'') <> N'//redial/audit/target'
        SET @errors = @errors + N'@toService must be ''//redial/audit/target''. ';
    IF ISNULL(@onContract, N'') <> N'//redial/audit/contract'
        SET @errors = @errors + N'@onContract must be ''//redial/audit/contract''. ';
    /* EndOfStream is not in the list: it is sent by the procedure that deleted the row, once. */
    IF ISNULL(@messageType, N'') NOT IN (N'//redial/audit/event')
        SET @errors = @errors + N'@messageType must be one of: ''//redial/audit/event''. ';
    IF @key IS NOT NULL
        SET @errors = @errors + N'@key must be NULL: this configuration has key = spid. ';
    IF @messageId IS NOT NULL
        SET @errors = @errors + N'@messageId must be NULL: this configuration has delivery = at_least_once. ';

    IF @errors <> N''
    BEGIN
        SET @errors = LEFT(RTRIM(@errors), 2040);
        THROW 50100, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Look up, send; start over when the dialog is found dead (bounded)                        */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        BEGIN TRY
            /* -- 2.1  Look-up and SEND are one transaction: outside one the row lock ends with the
                       SELECT, and a message is lost after EndOfStream (F-123) ------------------- */
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 2.2  R, and with it the right to send on the conversation it leads to ---------------- */
            SET @handle = NULL;
            EXECUTE [audit].[usp_AcquireConversation]
                @conversationKey = @conversationKey,
                @deadHandle = @deadHandle,
                @ownsTransaction = @ownsTransaction,
                @handle = @handle OUTPUT;

            /* -- 2.3  G. In a caller's transaction a dead handle must not doom the caller's work:
                       XACT_ABORT is OFF for this one statement ---------------------------------- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            IF @messageBody IS NULL
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
            END
            ELSE
            BEGIN
                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@messageBody);
            END;

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW: what an error does to the caller's
                                           transaction is the caller's choice */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: no such handle, or it can no longer send; 2627: another transaction of
               this key made the row. All else, and a transaction that can only be rolled back by
               the caller, is the caller's to know. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5
               OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
            BEGIN
                THROW;
            END;

            /* Without a handle it was an aged dialog that could not be closed: zeros say that one was
               found dead, and nothing is closed in the next attempt (F-150). */
            IF @error <> 2627
                SET @deadHandle = ISNULL(@handle, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000'));
        END CATCH;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_04_ufn_ReadBatch.function.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [audit].[ufn_ReadBatch](@json nvarchar(max))
RETURNS table
AS
/* Redial 0.1.0, configuration audit */
/* The elements of @json, a JSON array of messages (the caller has checked that it is one), a row each,
   with what is wrong with one in Problem. Made so that no value can raise an error: OPENJSON without a schema tells the type of every value, the
   rest are TRY_CONVERT, and base64 is decoded only where it is base64 (F-330).
   An element: {"ordinal": 1, "type": "...", "body": "base64", "key": "...", "id": "uuid"}; ordinal and
   type are required, null counts as not given. Names are case-sensitive, as JSON's are; a name that is
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
            WHEN e.[type] <> 5 THEN N'the element must be an object'
            WHEN p.Strange > 0 THEN N'has a property that is none of: ordinal, type, body, key, id'
            WHEN p.Most > 1 THEN N'has a property twice'
            WHEN p.Ordinal IS NULL THEN N'ordinal is missing'
            WHEN p.OrdinalKind <> 2 OR TRY_CONVERT(int, p.Ordinal) IS NULL
                THEN N'ordinal must be a whole number from -2147483648 to 2147483647'
            WHEN p.NoText > 0 THEN N'type, body, key and id must be strings or null'
            WHEN p.BodyIsBase64 = 0 THEN N'body must be base64 (RFC 4648, section 4), padded and without line breaks'
            WHEN p.MessageId IS NOT NULL AND (DATALENGTH(p.MessageId) <> 72 OR TRY_CONVERT(uniqueidentifier, p.MessageId) IS NULL)
                THEN N'id must be a uuid of 36 characters'
        END AS Problem
    FROM OPENJSON(@json) AS e
    CROSS APPLY
    (
        SELECT r.Ordinal, r.OrdinalKind, r.MessageType, r.MessageKey, r.MessageId, r.Strange, r.Most, r.NoText,
            CASE WHEN r.Body IS NULL THEN 1
                 WHEN r.Body LIKE N'%[^A-Za-z0-9+/=]%' COLLATE Latin1_General_BIN2 THEN 0
                 WHEN DATALENGTH(r.Body) % 8 <> 0 THEN 0
                 WHEN CHARINDEX(N'=', r.Body) = 0 THEN 1
                 WHEN CHARINDEX(N'=', r.Body) = DATALENGTH(r.Body) / 2 THEN 1
                 WHEN CHARINDEX(N'=', r.Body) = DATALENGTH(r.Body) / 2 - 1 AND RIGHT(r.Body, 1) = N'=' THEN 1
                 ELSE 0 END AS BodyIsBase64
        FROM
        (
            SELECT
                MAX(CASE WHEN v.[key] = N'ordinal' THEN v.[value] END) AS Ordinal,
                MAX(CASE WHEN v.[key] = N'ordinal' THEN v.[type] END) AS OrdinalKind,
                MAX(CASE WHEN v.[key] = N'type' THEN v.[value] END) AS MessageType,
                MAX(CASE WHEN v.[key] = N'body' THEN v.[value] END) AS Body,
                MAX(CASE WHEN v.[key] = N'key' THEN v.[value] END) AS MessageKey,
                MAX(CASE WHEN v.[key] = N'id' THEN v.[value] END) AS MessageId,
                SUM(CASE WHEN v.[key] IN (N'ordinal', N'type', N'body', N'key', N'id') THEN 0 ELSE 1 END) AS Strange,
                COUNT(*) - COUNT(DISTINCT v.[key]) + 1 AS Most,
                SUM(CASE WHEN v.[key] <> N'ordinal' AND v.[type] NOT IN (0, 1) THEN 1 ELSE 0 END) AS NoText
            /* A CASE as the argument: OPENJSON of anything but an object or an array raises 13609. */
            FROM OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END) AS v
        ) AS r
    ) AS p
    CROSS APPLY (SELECT CASE WHEN e.[type] = 5 AND p.NoText = 0 AND p.BodyIsBase64 = 1 THEN e.[value] ELSE N'{}' END AS [Element]) AS s
    OUTER APPLY OPENJSON (s.[Element]) WITH (body varbinary(max) '$.body') AS b
);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_05_usp_SendMessages.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SendMessages]
    @messages [audit].[MessageBatch] READONLY,
    @problems nvarchar(max) = N'',      /* what the caller found wrong already; raised with the rest */
    @sent int = NULL OUTPUT,
    @dialogs int = NULL OUTPUT,         /* conversations the messages went out on */
    @replays int = NULL OUTPUT          /* how often all of it was done again */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Sends all messages or none, strictly in the order of Ordinal; what usp_SendBatch and the view Outbox
   have in common. In a transaction of its own, or in the caller's behind a savepoint: a dialog found
   dead in the middle undoes all that was sent here, and all is sent again on new dialogs (bounded), so
   a batch is never split over an old and a new one. SAVE TRANSACTION is refused in a distributed
   transaction (627): nothing is sent then.
   Locks: the row R of every key, in the order of the keys, before the first SEND; then as usp_Send. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;     /* as usp_Send does, for its reasons */

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    /* Unique, so that a caller's own savepoint of the same name keeps its place (32 characters). */
    DECLARE @savepoint char(32) = REPLACE(CONVERT(char(36), NEWID()), '-', '');
    DECLARE @saved bit = 0;
    DECLARE @wrong TABLE (WrongId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Problem nvarchar(400) NOT NULL);
    /* Table variables keep their rows over a ROLLBACK: keys found dead and ids made are remembered. */
    DECLARE @keys TABLE
    (
        KeyNumber int NOT NULL PRIMARY KEY,
        ConversationKey nvarchar(200) NULL UNIQUE,
        Handle uniqueidentifier NULL,
        DeadHandle uniqueidentifier NULL,
        LastSequence bigint NULL
    );
    DECLARE @messageId uniqueidentifier = NULL;
    DECLARE @wrongId int = 0;
    DECLARE @problem nvarchar(400);
    DECLARE @keyCount int;
    DECLARE @keyNumber int;
    DECLARE @conversationKey nvarchar(200);
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @handle uniqueidentifier;
    DECLARE @ordinal int;
    DECLARE @messageType sysname;
    DECLARE @body varbinary(max);
    DECLARE @messageKey nvarchar(200);
    DECLARE @keySequence bigint = NULL;
    DECLARE @attempt int = 0;
    DECLARE @error int;
    DECLARE @message nvarchar(2048);

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: the first ten wrong ones are named, then one error is raised                     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @wrong (Problem)
    SELECT TOP (10) CONCAT(N'Ordinal ', m.Ordinal, N': ', w.[Rule], N'. ')
    FROM @messages AS m
    CROSS APPLY
    (
        SELECT N'MessageType must be one of: ''//redial/audit/event''' AS [Rule]
        WHERE ISNULL(m.MessageType, N'') NOT IN (N'//redial/audit/event')
        UNION ALL
        SELECT N'MessageKey must be NULL: this configuration has key = spid'
        WHERE m.MessageKey IS NOT NULL
        UNION ALL
        SELECT N'MessageId must be NULL: this configuration has delivery = at_least_once'
        WHERE m.MessageId IS NOT NULL
    ) AS w
    ORDER BY m.Ordinal;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @wrongId = w.WrongId, @problem = w.Problem
        FROM @wrong AS w
        WHERE w.WrongId > @wrongId
        ORDER BY w.WrongId;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @problems = @problems + @problem;
    END;

    IF @problems <> N''
    BEGIN
        SET @message = LEFT(CONCAT(N'Nothing was sent. ', RTRIM(@problems)), 2040);
        THROW 50150, @message, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  What a replay must find again: keys                                                  */
    /* ----------------------------------------------------------------------------------------- */
    SET @sent = (SELECT COUNT(*) FROM @messages);
    SET @dialogs = 0;
    SET @replays = 0;
    IF @sent = 0
        RETURN 0;

    INSERT INTO @keys (KeyNumber, ConversationKey)
    VALUES (1, CONVERT(nvarchar(200), @@SPID));
    SET @keyCount = (SELECT COUNT(*) FROM @keys);
    SET @dialogs = @keyCount;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  All of it; all of it again when a dialog is found dead (bounded: every replay replaces    */
    /*    one key's dialog, and five more for those another session replaces meanwhile)             */
    /* ----------------------------------------------------------------------------------------- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        BEGIN TRY
            SET @keyNumber = 1;
            SET @handle = NULL;
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END
            ELSE
            BEGIN
                SAVE TRANSACTION @savepoint;
                SET @saved = 1;
            END;

            /* -- 3.1  R of every key, in the order of the keys: two batches cannot deadlock over R -- */
            WHILE @keyNumber <= @keyCount
            BEGIN
                SELECT @conversationKey = k.ConversationKey, @deadHandle = k.DeadHandle
                FROM @keys AS k
                WHERE k.KeyNumber = @keyNumber;

                SET @handle = NULL;
                EXECUTE [audit].[usp_AcquireConversation]
                    @conversationKey = @conversationKey,
                    @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction,
                    @handle = @handle OUTPUT;

                UPDATE @keys
                SET Handle = @handle, LastSequence = @keySequence
                WHERE KeyNumber = @keyNumber;
                SET @keyNumber = @keyNumber + 1;
            END;

            /* -- 3.2  The messages, by seeks on the type's primary key: a cursor would be closed by a
                       ROLLBACK or a caller's CURSOR_CLOSE_ON_COMMIT, or copy every body first --- */
            SET @ordinal = (SELECT MIN(m.Ordinal) FROM @messages AS m);
            WHILE @ordinal IS NOT NULL
            BEGIN
                SELECT @messageType = m.MessageType, @body = m.MessageBody, @messageKey = m.MessageKey
                FROM @messages AS m
                WHERE m.Ordinal = @ordinal;

                SELECT @keyNumber = k.KeyNumber, @handle = k.Handle, @conversationKey = k.ConversationKey
                FROM @keys AS k
                WHERE k.KeyNumber = 1;

                /* A dead handle must not doom the caller's work: OFF for this one statement (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                IF @body IS NULL
                BEGIN
                    SEND ON CONVERSATION @handle MESSAGE TYPE @messageType;
                END
                ELSE
                BEGIN
                    SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);
                END;

                IF @ownsTransaction = 0 AND @callerAborts = 1
                    SET XACT_ABORT ON;

                SET @ordinal = (SELECT MIN(m.Ordinal) FROM @messages AS m WHERE m.Ordinal > @ordinal);
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
            /* A caller who catches our error and commits must not commit half a batch. */
            IF @ownsTransaction = 0 AND XACT_STATE() = 1 AND @saved = 1
                ROLLBACK TRANSACTION @savepoint;

            /* As in usp_Send: 8426, 8429 a dead dialog, 2627 the key's row was made meanwhile. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5 + @keyCount
               OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
            BEGIN
                THROW;
            END;

            IF @error <> 2627 AND @handle IS NOT NULL
                UPDATE @keys SET DeadHandle = @handle WHERE KeyNumber = @keyNumber;
        END CATCH;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_06_usp_SendBatch.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SendBatch]
    @fromService sysname,
    @toService sysname,
    @onContract sysname,
    @messages [audit].[MessageBatch] READONLY,   /* the messages; leave it out where @json has them */
    @json nvarchar(max) = NULL          /* [{"ordinal": 1, "type": "...", "body": "base64", "key": null, "id": null}, ...] */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Sends a batch: all messages or none, in the order of their ordinals, in one round trip. Returns 0 and
   one row: MessagesSent, DialogsUsed, Replays (how often all was done again because a dialog was found
   dead), FirstOrdinal, LastOrdinal (NULL for an empty batch, which is no error).
   In the caller's transaction it sends behind a savepoint, so an error that leaves the transaction
   alive leaves nothing of the batch in it; see usp_SendMessages. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @problems nvarchar(max) = N'';
    DECLARE @found nvarchar(max);
    DECLARE @sent int;
    DECLARE @dialogs int;
    DECLARE @replays int;
    DECLARE @batch [audit].[MessageBatch];
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
    IF ISNULL(@fromService, N'') <> N'//redial/audit/initiator'
        SET @problems = @problems + N'@fromService must be ''//redial/audit/initiator''. ';
    IF ISNULL(@toService, N'') <> N'//redial/audit/target'
        SET @problems = @problems + N'@toService must be ''//redial/audit/target''. ';
    IF ISNULL(@onContract, N'') <> N'//redial/audit/contract'
        SET @problems = @problems + N'@onContract must be ''//redial/audit/contract''. ';
    IF @json IS NOT NULL AND EXISTS (SELECT 1 FROM @messages)
        SET @problems = @problems + N'@messages and @json must not both have messages: give one of them. ';
    /* Valid JSON begins with a bracket or a brace; which of them comes first tells an array. */
    IF @json IS NOT NULL
       AND (ISJSON(@json) = 0 OR CHARINDEX(N'[', @json) = 0
            OR CHARINDEX(N'{', @json) BETWEEN 1 AND CHARINDEX(N'[', @json))
    BEGIN
        SET @problems = @problems + N'@json must be a JSON array of objects with ordinal, type, body (base64), key and id. ';
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
                THEN N'ordinal is also another element''s' ELSE e.Problem END
        FROM [audit].[ufn_ReadBatch](@json) AS e;

        INSERT INTO @batch (Ordinal, MessageType, MessageBody, MessageKey, MessageId)
        SELECT e.Ordinal, e.MessageType, e.MessageBody, e.MessageKey, e.MessageId
        FROM @elements AS e
        WHERE e.Problem IS NULL;

        WHILE LEN(@problems) < 2048     /* what an error can show */
        BEGIN
            SELECT TOP (1) @position = e.Position,
                @found = CONCAT(CASE WHEN e.Ordinal IS NULL THEN CONCAT(N'Element ', e.Position + 1) ELSE CONCAT(N'Ordinal ', e.Ordinal) END,
                    N': ', e.Problem, N'. ')
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
        EXECUTE [audit].[usp_SendMessages]
            @messages = @messages, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;
    ELSE
        EXECUTE [audit].[usp_SendMessages]
            @messages = @batch, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;

    SELECT @sent AS MessagesSent, @dialogs AS DialogsUsed, @replays AS Replays,
        MIN(a.Ordinal) AS FirstOrdinal, MAX(a.Ordinal) AS LastOrdinal
    FROM (SELECT m.Ordinal FROM @messages AS m
          UNION ALL
          SELECT b.Ordinal FROM @batch AS b) AS a;

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_07_Outbox.view.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [audit].[Outbox]
AS
/* Redial 0.1.0, configuration audit */
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
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 72_08_Outbox_Insert.trigger.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER TRIGGER [audit].[Outbox_Insert]
ON [audit].[Outbox]
WITH EXECUTE AS N'audit_module'
INSTEAD OF INSERT
AS
/* Redial 0.1.0, configuration audit */
/* Sends the rows of one INSERT: all or none, in the order of Ordinal. An error rolls back the whole
   transaction of the INSERT: triggers run under XACT_ABORT ON (create-trigger-transact-sql). */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* the INSERT itself is cut by it, what it inserted is not (F-331) */

    DECLARE @problems nvarchar(max) = N'';
    DECLARE @ordinal int = NULL;
    DECLARE @nulls int;
    DECLARE @duplicates int;
    DECLARE @batch [audit].[MessageBatch];

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Ordinals: every row has one, and no other row of the statement has it                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @nulls = (SELECT COUNT(*) FROM inserted AS i WHERE i.Ordinal IS NULL);
    IF @nulls > 0
        SET @problems = @problems + CONCAT(N'Ordinal must not be NULL, and is in ', @nulls, N' rows. ');

    SELECT @duplicates = COUNT(*), @ordinal = MIN(d.Ordinal)
    FROM (SELECT i.Ordinal FROM inserted AS i WHERE i.Ordinal IS NOT NULL GROUP BY i.Ordinal HAVING COUNT(*) > 1) AS d;
    IF @duplicates > 0
        SET @problems = @problems + CONCAT(N'Ordinal must be given once in a statement; ', @duplicates, N' are given more often, the first is ', @ordinal, N'. ');

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

    EXECUTE [audit].[usp_SendMessages] @messages = @batch, @problems = @problems;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 74_01_usp_RecycleConversation.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit                /* 1: its time has come. 0: the dialog has ended, drop its row */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* The second transaction of two_phase: takes R, then G, as usp_Send does, and waits for neither R
   nor N. Deleting the row is the right to send EndOfStream, so it is sent once (F-128).
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* no savepoints here: any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @conversationKey nvarchar(200);
    DECLARE @taken int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  The proof needs empty hands: no lock may be held on entry                                */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT <> 0
        THROW 50120, N'usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 2  Handle to key, holding nothing                                                     */
            /* ------------------------------------------------------------------------------------ */
            SET @conversationKey = NULL;
            SELECT @conversationKey = sc.ConversationKey
            FROM [audit].[SessionConversations] AS sc
                /* A plain read of the Handle index; it locks nothing that stays. NOWAIT: a sender in
                   a long transaction may be writing this entry, and a queue reader must not wait
                   for it; busy and gone stay two answers. */
                WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ------------------------------------------------------------------------------------ */
            /* 3  R, then G                                                                          */
            /* ------------------------------------------------------------------------------------ */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;

                DELETE sc
                FROM [audit].[SessionConversations] AS sc
                    /* INDEX, FORCESEEK: locks the clustered key first, the Handle entry after it. By
                       Handle it would be the other way round and deadlock with a sender (F-120).
                       NOWAIT: a busy row is in use by a sender; the re-armed timer asks again.
                       ROWLOCK: one row. Handle is checked again, under the lock. */
                    WITH (ROWLOCK, NOWAIT, INDEX ([PK_SessionConversations]), FORCESEEK)
                WHERE sc.ConfigId = 1
                  AND sc.ConversationKey = @conversationKey
                  AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;

                COMMIT TRANSACTION;
            END;

            /* ------------------------------------------------------------------------------------ */
            /* 4  Nothing left to retry: push the re-armed timer far away (it cannot be cancelled).    */
            /*    Alone and holding nothing, so it only ever takes G                                  */
            /* ------------------------------------------------------------------------------------ */
            IF @sendEndOfStream = 1
                EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 3600;

            RETURN 0;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* The dialog is dead, so nobody can or need be told: delete the row and stop. */
            IF ERROR_NUMBER() IN (8426, 8429) AND @sendEndOfStream = 1
                SET @sendEndOfStream = 0;
            ELSE
            BEGIN
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_RecycleConversation', @handle = @handle;
                RETURN 2;
            END;
        END CATCH;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 74_02_usp_ResendPending.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ResendPending]
    @handle uniqueidentifier,           /* the initiator's handle of the dialog that ended or failed */
    @code int,                          /* code of the Error message; 0 for EndDialog; NULL unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said; kept with the code */
    @allowResend bit = 1                /* 0: dead-letter everything (a resend failed before) */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Accounts for every message of a dialog that is still pending, then ends the dialog, all in one
   transaction: resent on a dialog of their own, or copied byte-exact to DeadLetter. Locks: the group
   of @handle and of dialogs begun here; never R. */
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @newHandle uniqueidentifier = NULL;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @conversationId uniqueidentifier;
    DECLARE @state char(2);
    DECLARE @sent bigint;
    DECLARE @resent bigint = 0;
    DECLARE @deadLettered bigint = 0;
    DECLARE @fetch int;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Refuse to end blindly                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    /* sys.transmission_queue is filtered by the same test and shows no row to anyone else (F-113). */
    IF ISNULL(IS_MEMBER(N'db_owner'), 0) <> 1
        THROW 50110, N'usp_ResendPending cannot see sys.transmission_queue, so it does not end the conversation: user ''audit_module'' must be a member of db_owner. Next: ALTER ROLE db_owner ADD MEMBER [audit_module]; then call it again.', 1;

    /* As a db_owner it could end anybody's conversation; ours is ours, and the side that sends. */
    IF NOT EXISTS (SELECT 1
                   FROM sys.conversation_endpoints AS ce
                       WITH (NOLOCK)    /* waits for nobody: the caller may hold G (F-126) */
                   INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                   WHERE ce.conversation_handle = @handle
                     AND ce.is_initiator = 1
                     AND s.name = N'//redial/audit/initiator')
        THROW 50112, N'@handle must be the initiator''s handle of a conversation of service ''//redial/audit/initiator'' that is still in sys.conversation_endpoints. Nothing was ended.', 1;

    IF @ownsTransaction = 1
    BEGIN
        SET XACT_ABORT ON;
        BEGIN TRANSACTION;
    END;

    /* An open dialog can still be sent on: take G before anything is read, so that what is pending
       cannot change below (F-109). In one that has ended or failed no SEND can succeed, and whether a
       refused timer dooms the RECEIVE around us is unknown (F-134): not asked. */
    IF EXISTS (SELECT 1
               FROM sys.conversation_endpoints AS ce
                   WITH (NOLOCK)        /* as above */
               WHERE ce.conversation_handle = @handle AND ce.state IN ('SO', 'CO'))
        EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;

    SELECT @conversationId = ce.conversation_id, @state = ce.state, @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce
        WITH (NOLOCK)                   /* our own endpoint, under G (F-126) */
    WHERE ce.conversation_handle = @handle;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Resend: only after errors that say nothing against the message itself (F-111)            */
    /* ----------------------------------------------------------------------------------------- */
    IF @allowResend = 1 AND @code IN (0, -8489, -8462, -9719, -9720, -28052)
    BEGIN
        /* STATIC: the rows as they are now; what is sent below does not join them. Broker rows are
           left out: an EndOfStream belongs to the old dialog, EndDialog and Error are not messages.
           The type's name may be NULL (F-142): <> alone would pass over such a row, and END delete it.
           A row here may have been delivered and only its acknowledgement lost: duplicates are
           possible (F-110). */
        DECLARE pending CURSOR LOCAL FORWARD_ONLY STATIC READ_ONLY FOR
            SELECT tq.message_sequence_number, tq.message_type_name, tq.message_body
            FROM sys.transmission_queue AS tq
            WHERE tq.conversation_handle = @handle
              AND tq.is_end_of_dialog = 0
              AND tq.is_conversation_error = 0
              AND ISNULL(tq.message_type_name, N'') <> N'EndOfStream'
            ORDER BY tq.message_sequence_number;

        OPEN pending;
        FETCH NEXT FROM pending INTO @sequence, @messageType, @body;
        SET @fetch = @@FETCH_STATUS;

        WHILE @fetch = 0
        BEGIN
            IF @newHandle IS NULL
            BEGIN
                /* A private dialog: no row, no timer, so nobody else sends on it. */
                BEGIN DIALOG CONVERSATION @newHandle
                    FROM SERVICE [//redial/audit/initiator]
                    TO SERVICE N'//redial/audit/target'
                    ON CONTRACT [//redial/audit/contract]
                    WITH LIFETIME = 2592000, ENCRYPTION = OFF;
            END;

            IF @body IS NULL
            BEGIN
                SEND ON CONVERSATION @newHandle MESSAGE TYPE @messageType;
            END
            ELSE
            BEGIN
                SEND ON CONVERSATION @newHandle MESSAGE TYPE @messageType (@body);
            END;

            SET @resent = @resent + 1;
            FETCH NEXT FROM pending INTO @sequence, @messageType, @body;
            SET @fetch = @@FETCH_STATUS;
        END;

        CLOSE pending;
        DEALLOCATE pending;

        IF @newHandle IS NOT NULL
        BEGIN
            /* It is complete, so its EndOfStream follows at once: the target ends it first, the
               EndDialog ends it here. If it fails too, its own Error message comes back to us. */
            SEND ON CONVERSATION @newHandle MESSAGE TYPE [EndOfStream];

            INSERT INTO [audit].[ConversationLog]
                (Handle, ConversationId, ConfigId, ResendOf, EndOfStreamUtc, Messages)
            SELECT @newHandle,
                (SELECT ce.conversation_id
                 FROM sys.conversation_endpoints AS ce
                     WITH (NOLOCK)      /* our own row, just made (F-126) */
                 WHERE ce.conversation_handle = @newHandle),
                1, @handle, SYSUTCDATETIME(), @resent;
        END;
    END
    /* ----------------------------------------------------------------------------------------- */
    /* 3  Every other code, positive ones too: byte-exact to DeadLetter                            */
    /* ----------------------------------------------------------------------------------------- */
    ELSE
    BEGIN
        INSERT INTO [audit].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N'initiator', @conversationId, @handle, tq.message_sequence_number, tq.message_type_name,
            tq.message_body, @code, @description
        FROM sys.transmission_queue AS tq
        WHERE tq.conversation_handle = @handle
          AND tq.is_end_of_dialog = 0
          AND tq.is_conversation_error = 0
          AND ISNULL(tq.message_type_name, N'') <> N'EndOfStream'
        ORDER BY tq.message_sequence_number;

        SET @deadLettered = @@ROWCOUNT;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  END, last: it deletes what is pending (F-108)                                            */
    /* ----------------------------------------------------------------------------------------- */
    UPDATE cl
    SET EndedUtc = SYSUTCDATETIME(),
        Messages = ISNULL(cl.Messages, @sent),
        Resent = @resent,
        DeadLettered = @deadLettered,
        Code = @code,
        Reason = @description
    FROM [audit].[ConversationLog] AS cl
        WITH (ROWLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)   /* this dialog's row only, under G */
    WHERE cl.Handle = @handle;

    DELETE pa
    FROM [audit].[PoisonAttempt] AS pa
        WITH (ROWLOCK, FORCESEEK)       /* a scan would wait for other dialogs' rows, under G */
    WHERE pa.ConversationHandle = @handle;

    /* An open dialog (an operator gives one up) would deliver what is pending after a plain END, a
       second time; WITH ERROR drops it and tells the target (F-138). */
    IF @state IN ('SO', 'CO')
    BEGIN
        END CONVERSATION @handle WITH ERROR = 50111
            DESCRIPTION = N'Given up by usp_ResendPending: pending messages were resent or dead-lettered.';
    END
    ELSE
    BEGIN
        END CONVERSATION @handle;
    END;

    IF @ownsTransaction = 1
        COMMIT TRANSACTION;

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 74_03_usp_SenderActivation.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SenderActivation]
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Empties the initiator's queue: timers recycle a dialog, EndDialog and Error end it. One message per
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
    DECLARE @code int;
    DECLARE @description nvarchar(3000);
    DECLARE @attempts int;              /* how often this message rolled its transaction back */
    DECLARE @poisoned bit;
    DECLARE @resend bit;
    DECLARE @result int;
    DECLARE @phase tinyint;             /* 0 receiving, 1 received, 2 transaction 1 committed */

    WHILE 1 = 1
    BEGIN
        SET @handle = NULL;             /* RECEIVE leaves variables alone when there is no row (F-119) */
        SET @phase = 0;

        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 1  Transaction 1: receive. From here on G is ours                                     */
            /* ------------------------------------------------------------------------------------ */
            BEGIN TRANSACTION;

            RECEIVE TOP (1)
                @handle = conversation_handle,
                @messageType = message_type_name,
                @sequence = message_sequence_number,
                @body = message_body
            FROM [audit].[InitiatorQueue];

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                RETURN 0;
            END;

            SET @phase = 1;
            SET @sequence = ISNULL(@sequence, -1);   /* of a timer or broker error: not documented */
            SET @messageType = ISNULL(@messageType, N'');   /* the type may be dropped by now (F-142) */

            SET @attempts = 0;
            SELECT @attempts = pa.Attempts
            FROM [audit].[PoisonAttempt] AS pa
                WITH (FORCESEEK)        /* a scan would wait for other dialogs' rows, under G */
            WHERE pa.ConversationHandle = @handle
              AND pa.MessageSequence = @sequence
              AND pa.MessageType = @messageType;
            SET @poisoned = CASE WHEN @attempts >= 1 THEN 1 ELSE 0 END;

            /* ------------------------------------------------------------------------------------ */
            /* 2  Timer: re-arm, commit (G is free again), only then look at R                        */
            /* ------------------------------------------------------------------------------------ */
            IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer'
            BEGIN
                /* Re-armed without looking: a read of R here would be G then R. The new timer is what
                   retries after a crash, a kill or a busy row. */
                IF @poisoned = 0
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;

                COMMIT TRANSACTION;
                SET @phase = 2;

                EXECUTE @result = [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;

                /* Re-arming failed once, so it was kept out of transaction 1; but a busy row must be
                   asked again, or the dialog is never recycled. Here a failure is only logged. */
                IF @poisoned = 1 AND @result <> 0
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
            END
            /* ------------------------------------------------------------------------------------ */
            /* 3  Ending failed even without a resend: set aside, below the five rollbacks (F-118)     */
            /* ------------------------------------------------------------------------------------ */
            ELSE IF @attempts >= 2
            BEGIN
                INSERT INTO [audit].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N'initiator', @handle, @sequence, @messageType, @body,
                     N'Not ended, see ErrorLog for this handle. Next: usp_ResendPending with it.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* ------------------------------------------------------------------------------------ */
            /* 4  EndDialog, Error: account for what is pending and end, under G; then drop the row   */
            /* ------------------------------------------------------------------------------------ */
            ELSE IF @messageType IN (N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                                     N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            BEGIN
                SET @code = 0;
                SET @description = NULL;
                IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'
                    EXECUTE [audit].[usp_ReadErrorBody] @messageBody = @body,
                        @code = @code OUTPUT, @description = @description OUTPUT;

                /* Asked here as well as inside: the refusal must not roll back the RECEIVE. The
                   message is consumed, the dialog stays, the log says how to end it. */
                IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 1
                BEGIN
                    SET @resend = CASE WHEN @poisoned = 1 THEN 0 ELSE 1 END;
                    EXECUTE [audit].[usp_ResendPending] @handle = @handle, @code = @code,
                        @description = @description, @allowResend = @resend;
                END
                ELSE
                BEGIN
                    SET @description = CONCAT(N'Not ended, pending messages cannot be seen: user ''audit_module'' is not a member of db_owner. Add it, then EXECUTE [audit].[usp_ResendPending] @handle = ''',
                        @handle, N''', @code = ', ISNULL(CONVERT(nvarchar(12), @code), N'NULL'), N'; ', @description);
                    EXECUTE [audit].[usp_LogError] @procedureName = N'usp_SenderActivation',
                        @handle = @handle, @sequence = @sequence, @message = @description;
                END;

                COMMIT TRANSACTION;
                SET @phase = 2;

                EXECUTE [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
            END
            /* ------------------------------------------------------------------------------------ */
            /* 5  Nothing else is in the contract for this side: kept, not dropped                    */
            /* ------------------------------------------------------------------------------------ */
            ELSE
            BEGIN
                INSERT INTO [audit].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES
                    (N'initiator', @handle, @sequence, @messageType, @body,
                     N'Unexpected message type on the initiator''s queue.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 9617, the queue is off, is somebody's decision and not news. */
            IF ERROR_NUMBER() <> 9617
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_SenderActivation',
                    @handle = @handle, @sequence = @sequence;

            /* An error of RECEIVE itself: leave. A loop would spin for ever (F-118). Severity 17 and up
               is the server's trouble (disk, memory), not the message's: leave, and blame nothing. */
            IF @phase = 0 OR ERROR_SEVERITY() >= 17
                RETURN 1;

            IF @phase = 1 AND ERROR_NUMBER() <> 1205   /* nor is a deadlock with somebody's own query */
                EXECUTE [audit].[usp_RecordPoison] @handle = @handle, @sequence = @sequence,
                    @messageType = @messageType;
        END CATCH;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 76_01_usp_LandRow.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LandRow]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @body varbinary(max)                /* as it came out of the queue */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Lands one row: for the row-by-row pass and the search for a poison row.
   Runs inside its caller's transaction; raises when the row cannot be processed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* the caller undoes one row to its savepoint */

    INSERT INTO [audit].[Landing] (ConversationId, ConversationHandle, MessageSequence, MessageType, Body)
    VALUES (@conversationId, @handle, @sequence, @messageType, @body);
    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 76_02_usp_LandBatch.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LandBatch]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the target's; the caller owns its group and a transaction */
    @rows [audit].[ReceivedBatch] READONLY
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Accounts for every row of one RECEIVE, inside its transaction: landed, or
   dead-lettered. Raises when the transaction is doomed or nothing can be written; its caller then
   rolls back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone to a savepoint, not doomed */

    DECLARE @done TABLE (RowId int NOT NULL PRIMARY KEY);   /* accounted for before landing */
    DECLARE @row int;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);

    IF @@TRANCOUNT = 0
        THROW 50212, N'usp_LandBatch must be called inside the transaction that received the rows.', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Rows known to be poison: dead-lettered unprocessed                                       */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @done (RowId)
    SELECT r.RowId
    FROM @rows AS r
    INNER JOIN [audit].[PoisonAttempt] AS pa
            WITH (FORCESEEK)            /* a scan would wait for other dialogs' rows, under G */
        ON pa.ConversationHandle = @handle AND pa.MessageSequence = r.MessageSequence
        AND pa.MessageType = r.MessageType
    WHERE pa.Attempts >= 1;

    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO [audit].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N'target', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body,
            pa.ErrorNumber, pa.ErrorMessage
        FROM @rows AS r
        INNER JOIN @done AS d ON d.RowId = r.RowId
        INNER JOIN [audit].[PoisonAttempt] AS pa
                WITH (FORCESEEK)        /* as above */
            ON pa.ConversationHandle = @handle AND pa.MessageSequence = r.MessageSequence
            AND pa.MessageType = r.MessageType
        ORDER BY r.RowId;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Land the batch as one                                                                    */
    /* ----------------------------------------------------------------------------------------- */
    SAVE TRANSACTION BeforeLanding;
    BEGIN TRY
        INSERT INTO [audit].[Landing]
            (ConversationId, ConversationHandle, MessageSequence, MessageType, Body)
        SELECT @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body
        FROM @rows AS r
        WHERE NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;

        RETURN 0;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 1
            THROW;                      /* doomed: usp_FindPoison finds the row after the rollback */
        ROLLBACK TRANSACTION BeforeLanding;
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

        SAVE TRANSACTION RedialBeforeRow;   /* a hook's own savepoints have other names */
        BEGIN TRY
            EXECUTE [audit].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 1 OR ERROR_NUMBER() = 50210
                THROW;                  /* doomed, or the transaction is not ours any more */
            ROLLBACK TRANSACTION RedialBeforeRow;
            INSERT INTO [audit].[DeadLetter]
                (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
            VALUES (N'target', @conversationId, @handle, @sequence, @messageType, @body,
                ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
        END CATCH;
    END;

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 76_03_usp_FindPoison.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_FindPoison]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [audit].[ReceivedBatch] READONLY    /* table variables survive the rollback */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Called from the CATCH block of usp_TargetActivation after the one rollback of a doomed batch: each
   row is tried alone and always undone, with no RECEIVE around it; what fails is recorded, and whoever
   receives it next dead-letters it. None fails (a deadlock, say): the next RECEIVE simply lands them.
   A batch of one is to blame itself: what failed may not fail again when it is tried alone. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;

    DECLARE @row int = 0;
    DECLARE @sequence bigint;
    DECLARE @messageType nvarchar(256);
    DECLARE @body varbinary(max);
    DECLARE @tried int = 0;
    DECLARE @failed int = 0;

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
            EXECUTE [audit].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
            ROLLBACK TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType;
            SET @failed = @failed + 1;
        END CATCH;
    END;

    /* Here the error is the one of the batch again. A deadlock (1205) and a lock that did not come
       (1222) say nothing against a row. */
    IF @tried = 1 AND @failed = 0 AND ERROR_NUMBER() NOT IN (1205, 1222)
        EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 76_04_usp_TargetActivation.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_TargetActivation]
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Lands what arrives, a batch per transaction, and ends a dialog when it is over: the target ends
   first, always. Touches no table a sender writes (F-129). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone to a savepoint, not doomed */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    /* No key and no NOT NULL beyond the handle: nobody promises that queuing_order is unique, or that
       a system message has one (F-141), and an error here would be one of RECEIVE itself. */
    DECLARE @received TABLE
    (
        QueuingOrder bigint NULL,
        Handle uniqueidentifier NOT NULL,
        MessageSequence bigint NULL,
        MessageType nvarchar(256) NULL, /* NULL: its message type was dropped meanwhile */
        Body varbinary(max) NULL
    );
    DECLARE @rows [audit].[ReceivedBatch];   /* the same, numbered: RECEIVE INTO takes a table variable,
                                           and nobody says one of a type will do (F-161) */
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @ended bit;                 /* an EndOfStream, EndDialog or Error row was seen */
    DECLARE @failed bit;                /* an Error row was seen: unread rows may be behind it */
    DECLARE @more bit;
    DECLARE @phase tinyint;             /* 0 receiving, 1 received */
    DECLARE @suspect uniqueidentifier = NULL;   /* whose batch was rolled back: its first row comes next */
    DECLARE @turn int = -1;             /* 0 and up: this session may roll back, the others wait */
    DECLARE @turnName nvarchar(60) = CONCAT(N'Redial poison ', OBJECT_ID(N'[audit].[TargetQueue]'));

    WHILE 1 = 1
    BEGIN
        /* Something has committed since this reader's rollback: the next one's turn. */
        IF @turn >= 0 AND @suspect IS NULL
        BEGIN
            EXECUTE sys.sp_releaseapplock @Resource = @turnName, @LockOwner = N'Session';
            SET @turn = -1;
        END;

        SET @phase = 0;
        DELETE FROM @received;

        BEGIN TRY
            /* ------------------------------------------------------------------------------------ */
            /* 1  Receive. All rows are of one conversation: groups of this side hold one (F-105)     */
            /* ------------------------------------------------------------------------------------ */
            BEGIN TRANSACTION;

            IF @suspect IS NOT NULL
            BEGIN
                /* One row: it lands or is dead-lettered, so this commits, and a rollback is followed by
                   a commit whatever the other conversations hold (F-162). */
                RECEIVE TOP (1)
                    queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [audit].[TargetQueue]
                INTO @received
                WHERE conversation_handle = @suspect;
            END
            ELSE
            BEGIN
                WAITFOR (
                    RECEIVE TOP (500)
                        queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                    FROM [audit].[TargetQueue]
                    INTO @received
                ), TIMEOUT 1000;
            END;

            SET @handle = NULL;
            SELECT TOP (1) @handle = r.Handle FROM @received AS r;

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                IF @suspect IS NULL
                    RETURN 0;

                SET @suspect = NULL;    /* another reader took its rows */
                CONTINUE;
            END;

            SET @phase = 1;
            SET @ended = 0;
            SET @failed = 0;
            SET @more = 1;
            SET @conversationId = NULL;
            SELECT @conversationId = ce.conversation_id
            FROM sys.conversation_endpoints AS ce
                WITH (NOLOCK)           /* our own endpoint, under G; ids never change (F-126) */
            WHERE ce.conversation_handle = @handle;

            WHILE @more = 1
            BEGIN
                SET @more = 0;

                IF EXISTS (SELECT 1 FROM @received AS r
                           WHERE r.MessageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
                    SET @failed = 1;
                IF EXISTS (SELECT 1 FROM @received AS r
                           WHERE r.MessageType IN (N'EndOfStream',
                               N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                               N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'))
                    SET @ended = 1;

                /* -------------------------------------------------------------------------------- */
                /* 2  Land the batch: a table variable cannot be a parameter, one of a type can        */
                /* -------------------------------------------------------------------------------- */
                DELETE FROM @rows;
                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body
                FROM @received AS r
                ORDER BY r.QueuingOrder;

                EXECUTE [audit].[usp_LandBatch] @conversationId, @handle, @rows;

                /* -------------------------------------------------------------------------------- */
                /* 3  An Error row overtakes unread rows, and END would delete them: take them first  */
                /* -------------------------------------------------------------------------------- */
                IF @failed = 1
                BEGIN
                    DELETE FROM @received;
                    RECEIVE TOP (500)
                        queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                    FROM [audit].[TargetQueue]
                    INTO @received
                    WHERE conversation_handle = @handle;
                    IF EXISTS (SELECT 1 FROM @received)
                        SET @more = 1;
                END;
            END;

            /* ------------------------------------------------------------------------------------ */
            /* 4  End first: the answer to EndOfStream is END, and EndDialog tells the initiator       */
            /* ------------------------------------------------------------------------------------ */
            IF @ended = 1
            BEGIN
                DELETE pa
                FROM [audit].[PoisonAttempt] AS pa
                    WITH (ROWLOCK, FORCESEEK)   /* a scan would wait for other dialogs' rows, under G */
                WHERE pa.ConversationHandle = @handle;
                END CONVERSATION @handle;
            END;

            COMMIT TRANSACTION;

            SET @suspect = NULL;
        END TRY
        BEGIN CATCH
            /* ------------------------------------------------------------------------------------ */
            /* 5  Before it rolls back a reader takes its turn, and keeps it until it has committed    */
            /*    something: readers that meet doomed rows together would reach five rollbacks in a    */
            /*    row (F-162). The session's lock, for it outlives the rollback. Refused or timed out: */
            /*    on without it. Not after a deadlock: the others wait for what is held here.          */
            /* ------------------------------------------------------------------------------------ */
            IF @phase = 1 AND @turn < 0 AND ERROR_NUMBER() <> 1205 AND ERROR_SEVERITY() < 17
            BEGIN
                BEGIN TRY
                    EXECUTE @turn = sys.sp_getapplock @Resource = @turnName, @LockMode = N'Exclusive',
                        @LockOwner = N'Session', @LockTimeout = 10000;
                END TRY
                BEGIN CATCH
                    SET @turn = -1;
                END CATCH;
            END;

            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            IF ERROR_NUMBER() <> 9617   /* the queue is off: somebody's decision and not news */
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_TargetActivation', @handle = @handle;

            IF @phase = 1 AND ERROR_SEVERITY() < 17
            BEGIN
                EXECUTE [audit].[usp_FindPoison] @conversationId, @handle, @rows;
                SET @suspect = @handle;
            END
            ELSE
            BEGIN
                /* An error of RECEIVE itself: leave, a loop would spin (F-118). Severity 17 and up is
                   the server's trouble (disk, memory), not the row's: leave, and blame no row. */
                IF @turn >= 0
                    EXECUTE sys.sp_releaseapplock @Resource = @turnName, @LockOwner = N'Session';
                RETURN 1;
            END;
        END CATCH;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 78_usp_AcknowledgeLanding.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcknowledgeLanding]
    @reader nvarchar(128) = NULL,       /* any name that stays the same, one for each who reads */
    @upTo binary(8) = NULL,             /* its mark: it needs no row with RowVersion < @upTo again */
    @forget bit = 0,                    /* 1: this reader is gone, do not wait for it any more */
    @Help bit = 0
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* A reader of Landing says how far it has got, so that usp_PurgeLanding removes nothing it still
   needs. May go back as well. Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_AcknowledgeLanding: a reader of Landing says how far it has got; usp_PurgeLanding removes only what every reader has acknowledged.
  @reader    name of the reader, 1 to 128 characters
  @upTo      mark: rows with RowVersion < @upTo are not needed again; at most MIN_ACTIVE_ROWVERSION()
  @forget    1: forget this reader, @upTo is not used
Take the mark before you read, read rows below it, then acknowledge it:
  DECLARE @mark binary(8) = MIN_ACTIVE_ROWVERSION();
  SELECT ... FROM ' + N'[audit].[Landing] WHERE RowVersion >= @from AND RowVersion < @mark;' + N'
  EXECUTE ' + N'[audit].[usp_AcknowledgeLanding] @reader = N''lake'', @upTo = @mark;';
        RETURN 0;
    END;

    IF ISNULL(@reader, N'') = N''
        SET @errors = @errors + N'@reader must be a name of 1 to 128 characters. ';
    IF @forget = 0 AND @upTo IS NULL
        SET @errors = @errors + N'@upTo must be a mark of Landing.RowVersion; allowed: binary(8), not NULL. ';
    /* Rows below such a mark may not have been committed yet, so nobody can have read them. */
    IF @forget = 0 AND @upTo > MIN_ACTIVE_ROWVERSION()
        SET @errors = @errors + N'@upTo must be at most MIN_ACTIVE_ROWVERSION(): take the mark from it. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50183, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Remember it                                                                              */
    /* ----------------------------------------------------------------------------------------- */
    IF @forget = 1
    BEGIN
        DELETE FROM [audit].[LandingAcknowledged] WHERE Reader = @reader;
        RETURN 0;
    END;

    UPDATE [audit].[LandingAcknowledged] SET UpTo = @upTo, ChangedUtc = SYSUTCDATETIME() WHERE Reader = @reader;
    IF @@ROWCOUNT = 0
        INSERT INTO [audit].[LandingAcknowledged] (Reader, UpTo) VALUES (@reader, @upTo);

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 78_usp_EndLeaked.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndLeaked]
    @WhatIf bit = 1                     /* 1: only show what would be done */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* lint: operator */
/* For an operator: endpoints of this configuration's services that nobody will end any more.
   - DISCONNECTED_INBOUND or ERROR, with nothing unread and nothing pending: ended.
   - STARTED_OUTBOUND that no row leads to (a sender was cancelled in its first use, and its client
     committed all the same): ended.
   - CLOSED past its time: ended WITH CLEANUP.
   - Rows of SessionConversations whose dialog is gone: deleted.
   Returns one row each: what, and whether it was done. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */

    DECLARE @leaked TABLE
    (
        LeakedId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        ConversationKey nvarchar(200) NULL,
        Action nvarchar(30) NOT NULL,
        Outcome nvarchar(400) NOT NULL
    );
    DECLARE @id int;
    DECLARE @handle uniqueidentifier;
    DECLARE @key nvarchar(200);
    DECLARE @action nvarchar(30);
    DECLARE @done bit;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Pending messages must be visible                                                         */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT <> 0
        THROW 50130, N'usp_EndLeaked must be called outside a transaction: each endpoint is ended in one of its own.', 1;
    IF ISNULL(IS_MEMBER(N'db_owner'), 0) <> 1
        THROW 50131, N'usp_EndLeaked cannot see sys.transmission_queue: user ''audit_module'' must be a member of db_owner. Next: ALTER ROLE db_owner ADD MEMBER [audit_module]; then call it again.', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Candidates                                                                               */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action, Outcome)
    SELECT ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END', N'would be ended'
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name IN (N'//redial/audit/initiator', N'//redial/audit/target')
      AND ce.state IN ('DI', 'ER');

    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action, Outcome)
    SELECT ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END UNUSED', N'would be ended'
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name = N'//redial/audit/initiator'
      AND ce.state = 'SO'
      AND NOT EXISTS (SELECT 1
                      FROM [audit].[SessionConversations] AS sc
                          WITH (FORCESEEK)   /* a scan would wait for every sender at work, not for this one */
                      WHERE sc.Handle = ce.conversation_handle);

    /* A CLOSED row guards against replays until security_timestamp; 1900 means that was never set,
       and then the row is kept until 30 minutes after the lifetime (F-106). Both are UTC. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action, Outcome)
    SELECT ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END WITH CLEANUP',
        N'would be cleaned up'
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name IN (N'//redial/audit/initiator', N'//redial/audit/target')
      AND ce.state = 'CD'
      AND ((ce.security_timestamp > '19000101' AND ce.security_timestamp < GETUTCDATE())
           OR (ce.security_timestamp = '19000101' AND ce.lifetime < DATEADD(minute, -30, GETUTCDATE())));

    INSERT INTO @leaked (Handle, IsInitiator, State, ConversationKey, Action, Outcome)
    SELECT sc.Handle, 1, N'gone', sc.ConversationKey, N'DELETE ROW', N'would be deleted'
    FROM [audit].[SessionConversations] AS sc
        WITH (READPAST, READCOMMITTEDLOCK)   /* a row in use is no leak; do not wait for it */
    WHERE NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = sc.Handle);

    /* ----------------------------------------------------------------------------------------- */
    /* 3  One by one, each checked again in its own transaction                                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @id = 0;
    WHILE EXISTS (SELECT 1 FROM @leaked AS l WHERE l.LeakedId > @id)
    BEGIN
        SELECT TOP (1) @id = l.LeakedId, @handle = l.Handle, @key = l.ConversationKey, @action = l.Action
        FROM @leaked AS l
        WHERE l.LeakedId > @id
        ORDER BY l.LeakedId;

        SET @done = 0;
        BEGIN TRY
            BEGIN TRANSACTION;

            IF @action = N'DELETE ROW'
            BEGIN
                IF @WhatIf = 0
                BEGIN
                    DELETE sc
                    FROM [audit].[SessionConversations] AS sc
                        /* Clustered key first, then the Handle entry (F-120); READPAST: a row in use
                           is a sender's, who heals it (it holds R and finds the handle dead). */
                        WITH (ROWLOCK, READPAST, INDEX ([PK_SessionConversations]), FORCESEEK)
                    WHERE sc.ConfigId = 1
                      AND sc.ConversationKey = @key
                      AND sc.Handle = @handle;
                    SET @done = @@ROWCOUNT;
                END;
            END
            ELSE IF @action = N'END WITH CLEANUP'
            BEGIN
                IF @WhatIf = 0
                BEGIN
                    END CONVERSATION @handle WITH CLEANUP;
                    SET @done = 1;
                END;
            END
            ELSE IF @action = N'END UNUSED'
            BEGIN
                IF @WhatIf = 0
                BEGIN
                    /* Takes G, so that a sender that just begins this dialog has committed its row. */
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
                    IF EXISTS (SELECT 1
                               FROM [audit].[SessionConversations] AS sc
                                   /* We hold G, and a sender that holds its row may want it: a wait
                                      here, or a scan that meets that row, would close the circle. A
                                      busy entry fails (1222) and is shown. */
                                   WITH (NOWAIT, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                               WHERE sc.Handle = @handle)
                        UPDATE @leaked SET Outcome = N'kept: it is in use now' WHERE LeakedId = @id;
                    ELSE
                    BEGIN
                        END CONVERSATION @handle;
                        SET @done = 1;
                    END;
                END;
            END
            /* The far side has ended, so nothing new arrives: once nothing is unread, nothing will
               be. A plain read: it waits for a reader that holds the rows, and so is told the truth. */
            ELSE IF EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WHERE q.conversation_handle = @handle)
                 OR EXISTS (SELECT 1 FROM [audit].[InitiatorQueue] AS q WHERE q.conversation_handle = @handle)
            BEGIN
                UPDATE @leaked SET Outcome = N'kept: unread messages are left; its activation handles them' WHERE LeakedId = @id;
            END
            ELSE IF EXISTS (SELECT 1 FROM sys.transmission_queue AS tq
                            WHERE tq.conversation_handle = @handle AND tq.is_end_of_dialog = 0 AND tq.is_conversation_error = 0)
            BEGIN
                UPDATE @leaked SET Outcome = N'kept: messages are pending; call usp_ResendPending' WHERE LeakedId = @id;
            END
            ELSE IF @WhatIf = 0
            BEGIN
                END CONVERSATION @handle;
                SET @done = 1;
            END;

            COMMIT TRANSACTION;

            IF @done = 1
                UPDATE @leaked SET Outcome = N'done' WHERE LeakedId = @id;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            UPDATE @leaked SET Outcome = LEFT(CONCAT(N'failed: ', ERROR_MESSAGE()), 400) WHERE LeakedId = @id;
        END CATCH;
    END;

    SELECT l.Handle, l.ConversationId, l.IsInitiator, l.State, l.ConversationKey, l.Action, l.Outcome
    FROM @leaked AS l
    ORDER BY l.LeakedId;

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 78_usp_PurgeLanding.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_PurgeLanding]
    @olderThanDays int = NULL,          /* NULL: retention.landing_days of the configuration */
    @upTo binary(8) = NULL,             /* NULL: what every reader has acknowledged */
    @batch int = 4000,                  /* rows of one transaction */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,
    @Help bit = 0
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Removes landed rows that are old enough and that every reader has acknowledged, oldest first, a
   small transaction after the other. Returns one row: WhatIf bit, OlderThanUtc datetime2(3), Below
   binary(8), Affected bigint. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* one statement a transaction: nothing to save */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else all batches were one transaction (F-137) */

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @days int = ISNULL(@olderThanDays, NULL);
    DECLARE @before datetime2(3);
    DECLARE @below binary(8);
    DECLARE @young binary(8);
    DECLARE @rows bigint = 0;
    DECLARE @deleted int = 1;
    DECLARE @line nvarchar(400);

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeLanding: removes landed rows that are old enough and acknowledged by every reader (usp_AcknowledgeLanding).
  @olderThanDays  age in days, 0 to 36500; default: none, retention.landing_days is 0 (for ever)
  @upTo           only rows with RowVersion < @upTo; default: what every reader has acknowledged.
                  With readers it can only lower that mark; without any it must be given.
  @batch          rows of one transaction, 1 to 4900; default 4000
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Examples:
  EXECUTE ' + N'[audit].[usp_PurgeLanding]' + N' @olderThanDays = 30;
  EXECUTE ' + N'[audit].[usp_PurgeLanding]' + N' @olderThanDays = 30, @WhatIf = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeLanding must be called outside a transaction: it deletes in small ones.', 1;
    IF ISNULL(@days, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500; it has no default here: retention.landing_days is 0 (for ever). ';
    /* 5,000 locks of one statement on one table make the server try for a lock on the whole table
       (F-166), and then inserts would wait. */
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';

    SELECT TOP (1) @below = la.UpTo FROM [audit].[LandingAcknowledged] AS la ORDER BY la.UpTo;
    IF @below IS NULL OR @upTo < @below
        SET @below = @upTo;
    IF @below IS NULL
        SET @errors = @errors + N'@upTo must be given: no reader has acknowledged anything (usp_AcknowledgeLanding). ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50180, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  How far: rows are in the order of landing, so the first young one ends it. What a late    */
    /*    commit left behind it is for the next run                                                 */
    /* ----------------------------------------------------------------------------------------- */
    SET @before = DATEADD(day, -@days, SYSUTCDATETIME());

    SELECT TOP (1) @young = l.RowVersion
    FROM [audit].[Landing] AS l
        /* Along the clustered key from its old end; READPAST: waits for nobody. */
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)
    WHERE l.RowVersion < @below AND l.LandedUtc >= @before
    ORDER BY l.RowVersion;
    IF @young < @below
        SET @below = @young;

    IF @Debug = 1
    BEGIN
        SET @line = CONCAT(N'Older than ', CONVERT(nvarchar(30), @before, 126), N', RowVersion below ', CONVERT(nvarchar(20), @below, 1));
        PRINT @line;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Show, or delete from the old end; inserts are at the other and never met                  */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 1
    BEGIN
        SELECT @rows = COUNT_BIG(*)
        FROM [audit].[Landing] AS l
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)   /* as above */
        WHERE l.RowVersion < @below;
    END;

    WHILE @WhatIf = 0 AND @deleted > 0
    BEGIN
        DELETE o
        FROM
        (
            SELECT TOP (@batch) l.RowVersion
            FROM [audit].[Landing] AS l
                /* ROWLOCK: these rows and no page with others. XLOCK, READPAST: a row somebody reads
                   under REPEATABLE READ is passed over too; U would be got and then wait. */
                WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([PK_Landing]), FORCESEEK)
            WHERE l.RowVersion < @below
            ORDER BY l.RowVersion
        ) AS o;

        SET @deleted = @@ROWCOUNT;
        SET @rows = @rows + @deleted;
        IF @Debug = 1
        BEGIN
            SET @line = CONCAT(@deleted, N' rows deleted, ', @rows, N' in all');
            PRINT @line;
        END;
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [audit].[OperatorLog] (Action, Detail)
        VALUES (N'usp_PurgeLanding', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)));

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @below AS Below, @rows AS Affected;

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 78_usp_PurgePoison.procedure.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_PurgePoison]
    @olderThanDays int = NULL,          /* NULL: retention.log_days of the configuration */
    @batch int = 1000,                  /* rows of one transaction */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,
    @Help bit = 0
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Forgets failed attempts of conversations that are gone. One that ends in order takes its own along;
   these are of dialogs ended by hand or WITH CLEANUP. Returns one row: WhatIf bit, OlderThanUtc
   datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else all batches were one transaction (F-137) */

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @days int = ISNULL(@olderThanDays, NULL);
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @deleted int = 1;
    DECLARE @line nvarchar(400);

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgePoison: forgets failed attempts (PoisonAttempt) of conversations that are gone.
  @olderThanDays  days since the last attempt, 0 to 36500; default: none, retention.log_days is 0 (for ever)
  @batch          rows of one transaction, 1 to 4900; default 1000
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example:
  EXECUTE ' + N'[audit].[usp_PurgePoison]' + N' @olderThanDays = 30, @WhatIf = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgePoison must be called outside a transaction: it deletes in small ones.', 1;
    IF ISNULL(@days, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500; it has no default here: retention.log_days is 0 (for ever). ';
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50184, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Show, or delete. READPAST: a row a receiver is using is of a live conversation             */
    /* ----------------------------------------------------------------------------------------- */
    SET @before = DATEADD(day, -@days, SYSUTCDATETIME());

    IF @WhatIf = 1
    BEGIN
        SELECT @rows = COUNT_BIG(*)
        FROM [audit].[PoisonAttempt] AS pa
            WITH (READPAST, READCOMMITTEDLOCK)
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);
    END;

    WHILE @WhatIf = 0 AND @deleted > 0
    BEGIN
        DELETE TOP (@batch) pa
        FROM [audit].[PoisonAttempt] AS pa
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)   /* as above; XLOCK: at once, or passed over */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* as above */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

        SET @deleted = @@ROWCOUNT;
        SET @rows = @rows + @deleted;
        IF @Debug = 1
        BEGIN
            SET @line = CONCAT(@deleted, N' rows deleted, ', @rows, N' in all');
            PRINT @line;
        END;
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [audit].[OperatorLog] (Action, Detail)
        VALUES (N'usp_PurgePoison', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)));

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 79_modules.signature.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Nothing is signed: the module user is in db_owner, or nothing sees pending messages (F-113). What an
   earlier deployment with security.signing = "certificate" made is dropped. */
SET XACT_ABORT ON;

DECLARE @signer sysname = NULL;

BEGIN TRANSACTION;

DECLARE @oldSigner sysname;
DECLARE @dropSigner nvarchar(max);
DECLARE oldSigners CURSOR LOCAL FORWARD_ONLY STATIC READ_ONLY FOR
    SELECT ct.name
    FROM sys.certificates AS ct
    WHERE LEFT(ct.name, 21) = N'redial_audit_signing_'
      AND LEN(ct.name) = 57   /* a GUID behind it: no other configuration's */
      AND ct.name <> ISNULL(@signer, N'');
OPEN oldSigners;
FETCH NEXT FROM oldSigners INTO @oldSigner;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @dropSigner = NULL;
    SELECT TOP (1) @dropSigner = CONCAT(N'DROP SIGNATURE FROM OBJECT::', QUOTENAME(OBJECT_SCHEMA_NAME(cp.major_id)),
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
        FETCH NEXT FROM oldSigners INTO @oldSigner;
    END;

    EXECUTE sys.sp_executesql @dropSigner;
END;
CLOSE oldSigners;
DEALLOCATE oldSigners;

COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 80_queues.activation.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it (F-130). A reader without
   something it calls would roll back five times and switch its queue off (F-118); where scripts go on
   after an error (F-139), what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[audit].[ConversationLog]'),
               (N'[audit].[DeadLetter]'),
               (N'[audit].[DeploymentHistory]'),
               (N'[audit].[ErrorLog]'),
               (N'[audit].[Gate]'),
               (N'[audit].[Landing]'),
               (N'[audit].[LandingAcknowledged]'),
               (N'[audit].[MessageBatch]'),
               (N'[audit].[Migration]'),
               (N'[audit].[OperatorLog]'),
               (N'[audit].[Outbox]'),
               (N'[audit].[OwnedObject]'),
               (N'[audit].[PoisonAttempt]'),
               (N'[audit].[ReceivedBatch]'),
               (N'[audit].[SessionConversations]'),
               (N'[audit].[Setting]'),
               (N'[audit].[ufn_ReadBatch]'),
               (N'[audit].[usp_AcknowledgeLanding]'),
               (N'[audit].[usp_AcquireConversation]'),
               (N'[audit].[usp_ArmTimer]'),
               (N'[audit].[usp_BeginConversation]'),
               (N'[audit].[usp_EndLeaked]'),
               (N'[audit].[usp_FindPoison]'),
               (N'[audit].[usp_LandBatch]'),
               (N'[audit].[usp_LandRow]'),
               (N'[audit].[usp_LogError]'),
               (N'[audit].[usp_PurgeLanding]'),
               (N'[audit].[usp_PurgePoison]'),
               (N'[audit].[usp_ReadErrorBody]'),
               (N'[audit].[usp_RecordPoison]'),
               (N'[audit].[usp_RecycleConversation]'),
               (N'[audit].[usp_ResendPending]'),
               (N'[audit].[usp_SeesPending]'),
               (N'[audit].[usp_Send]'),
               (N'[audit].[usp_SendBatch]'),
               (N'[audit].[usp_SendEndOfStream]'),
               (N'[audit].[usp_SenderActivation]'),
               (N'[audit].[usp_SendMessages]'),
               (N'[audit].[usp_TargetActivation]')
           ) AS needed (Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'Queue [audit].[InitiatorQueue] was not activated: an earlier script failed and something its reader needs is missing. Next: run install.sql again.', 1;

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
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[audit].[ConversationLog]'),
               (N'[audit].[DeadLetter]'),
               (N'[audit].[DeploymentHistory]'),
               (N'[audit].[ErrorLog]'),
               (N'[audit].[Gate]'),
               (N'[audit].[Landing]'),
               (N'[audit].[LandingAcknowledged]'),
               (N'[audit].[MessageBatch]'),
               (N'[audit].[Migration]'),
               (N'[audit].[OperatorLog]'),
               (N'[audit].[Outbox]'),
               (N'[audit].[OwnedObject]'),
               (N'[audit].[PoisonAttempt]'),
               (N'[audit].[ReceivedBatch]'),
               (N'[audit].[SessionConversations]'),
               (N'[audit].[Setting]'),
               (N'[audit].[ufn_ReadBatch]'),
               (N'[audit].[usp_AcknowledgeLanding]'),
               (N'[audit].[usp_AcquireConversation]'),
               (N'[audit].[usp_ArmTimer]'),
               (N'[audit].[usp_BeginConversation]'),
               (N'[audit].[usp_EndLeaked]'),
               (N'[audit].[usp_FindPoison]'),
               (N'[audit].[usp_LandBatch]'),
               (N'[audit].[usp_LandRow]'),
               (N'[audit].[usp_LogError]'),
               (N'[audit].[usp_PurgeLanding]'),
               (N'[audit].[usp_PurgePoison]'),
               (N'[audit].[usp_ReadErrorBody]'),
               (N'[audit].[usp_RecordPoison]'),
               (N'[audit].[usp_RecycleConversation]'),
               (N'[audit].[usp_ResendPending]'),
               (N'[audit].[usp_SeesPending]'),
               (N'[audit].[usp_Send]'),
               (N'[audit].[usp_SendBatch]'),
               (N'[audit].[usp_SendEndOfStream]'),
               (N'[audit].[usp_SenderActivation]'),
               (N'[audit].[usp_SendMessages]'),
               (N'[audit].[usp_TargetActivation]')
           ) AS needed (Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'Queue [audit].[TargetQueue] was not activated: an earlier script failed and something its reader needs is missing. Next: run install.sql again.', 1;

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
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 85_retention.grant.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Readers say how far they are; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_reader];
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
GRANT SELECT ON OBJECT::[audit].[LandingAcknowledged] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgePoison] TO [audit_operator];
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 85_roles.grant.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The application's whole right: to send, one by one or in bulk. EXECUTE on the type: who fills a
   table-valued parameter declares a variable of it. SELECT on Outbox, which shows no row ever: tools
   that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Send] TO [audit_sender];
GRANT EXECUTE ON OBJECT::[audit].[usp_SendBatch] TO [audit_sender];
GRANT EXECUTE ON TYPE::[audit].[MessageBatch] TO [audit_sender];
GRANT SELECT, INSERT ON OBJECT::[audit].[Outbox] TO [audit_sender];
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendPending] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_EndLeaked] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeadLetter] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ErrorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[PoisonAttempt] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeploymentHistory] TO [audit_operator];
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
GRANT SELECT ON OBJECT::[audit].[Landing] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_reader];
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
-- 90_deployment.data.sql
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'b921afeb2a7fc33dbd54c7a07e657bb4fa6326df73cae86ba10b04139451eef1'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'b921afeb2a7fc33dbd54c7a07e657bb4fa6326df73cae86ba10b04139451eef1');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
PRINT N'Redial 0.1.0, configuration audit: installed';
GO
SET NOEXEC OFF;
GO
