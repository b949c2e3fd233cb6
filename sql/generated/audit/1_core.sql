/* Redial 0.1.0, configuration audit: 1_core.sql, what carries a message: tables, send, land, replace, send again. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'1_core.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'65897640aba40bc1 [0-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'0_preflight.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 1_core.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* One row per dialog this side began: without it nobody can audit what was sent.
   Lock rule: the sender only inserts the row of a dialog it began in the same transaction; every
   later change is made by a transaction that owns the dialog's conversation group. So a row of this
   table is never waited for while its owner waits for the group. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[ConversationLog]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[ConversationLog]
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
            WITH (ALLOW_PAGE_LOCKS = OFF)       /* locks are row by row */
    );
    ALTER TABLE [audit].[ConversationLog] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [audit].[usp_Mark] N'TABLE', N'ConversationLog';
    COMMIT TRANSACTION;
END;
/* From a copy to its dialog; a table that was there before has none yet. */
IF INDEXPROPERTY(OBJECT_ID(N'[audit].[ConversationLog]', N'U'), N'IX_ConversationLog_ConversationId', 'IndexID') IS NULL
    CREATE NONCLUSTERED INDEX [IX_ConversationLog_ConversationId] ON [audit].[ConversationLog] (ConversationId)
        WITH (ALLOW_PAGE_LOCKS = OFF);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Messages that were neither landed nor resent: byte-exact, with the code and the sequence. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[DeadLetter]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[DeadLetter]
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
    EXECUTE [audit].[usp_Mark] N'TABLE', N'DeadLetter';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What went wrong and what to do next. Activated procedures write here instead of RAISERROR WITH
   LOG, which their principal may not use (2778). */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[ErrorLog]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[ErrorLog]
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
    EXECUTE [audit].[usp_Mark] N'TABLE', N'ErrorLog';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* The drain gate: one row. Closed, usp_Send refuses (50102). A sender reads it after it holds what a
   drain will ask for (its row R), so a sender that saw it open is finished before the drain is. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[Gate]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Gate]
    (
        ConfigId int NOT NULL,
        IsOpen bit NOT NULL,
        ChangedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Gate_ChangedUtc] DEFAULT (SYSUTCDATETIME()),
        ChangedBy nvarchar(128) NOT NULL CONSTRAINT [DF_Gate_ChangedBy] DEFAULT (ORIGINAL_LOGIN()),
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_Gate] PRIMARY KEY CLUSTERED (ConfigId)
    );
    ALTER TABLE [audit].[Gate] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [audit].[usp_Mark] N'TABLE', N'Gate';
    COMMIT TRANSACTION;
END;
IF NOT EXISTS (SELECT 1 FROM [audit].[Gate] AS g WHERE g.ConfigId = 1)
BEGIN
    INSERT INTO [audit].[Gate] (ConfigId, IsOpen)
    VALUES (1, 1);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What arrived, in full: user messages and the EndOfStream, EndDialog and Error rows too.
   Insert-only. A rowversion is given once, at the insert, and never changes here, so it is both the
   clustered key and the range readers ask for (rows with from <= RowVersion < mark). It is no order:
   rows of one batch may get theirs in any. ConversationId, MessageSequence is the order sent.
   Body is byte-exact; NULL stands for a message without a body and for an empty one, which the
   broker does not tell apart.
   ConversationKey, KeySequence and MessageId are filled by the choices that carry them. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[Landing]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Landing]
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
    IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) = 8
       OR CONVERT(int, PARSENAME(CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion')), 4)) >= 15
        EXECUTE sys.sp_executesql N'ALTER INDEX [PK_Landing] ON [audit].[Landing] SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON);';
    EXECUTE [audit].[usp_Mark] N'TABLE', N'Landing';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What operators did, who and why: gate closed, dead letters replayed or purged, dialogs ended. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[OperatorLog]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[OperatorLog]
    (
        OperatorLogId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_OperatorLog_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Login nvarchar(128) NOT NULL CONSTRAINT [DF_OperatorLog_Login] DEFAULT (ORIGINAL_LOGIN()),
        Action nvarchar(60) NOT NULL,
        Detail nvarchar(3000) NULL,
        Reason nvarchar(400) NULL,
        CONSTRAINT [PK_OperatorLog] PRIMARY KEY CLUSTERED (OperatorLogId)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'OperatorLog';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* How often a queue row made its transaction roll back. A row that reached the limit is
   dead-lettered unprocessed by whoever receives it next, so no row can bring the queue to the five
   rollbacks that switch it off. MessageSequence below 0 counts no message: -1 usp_ResendStranded, -2 a hook
   at work, -3 waits for the server's set-up, -4 left for usp_ResendLeft, -5 refused in a row. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[PoisonAttempt]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
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
    EXECUTE [audit].[usp_Mark] N'TABLE', N'PoisonAttempt';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* The sender's copy of every message that has not landed yet, byte-exact: what is sent again when a
   dialog is ended by whoever and however. Written by the transaction that sends; deleted by the one that
   lands the message, dead-letters it, or sends it again (docs/decisions/0001-copies.md).
   MessageSequence counts the messages of the dialog from 0, as the broker does; a copy goes for the
   message that has its number and its content, never for its number alone.
   Lock rule: a row belongs to the transaction that inserts it, and from its commit on to whoever holds
   the conversation group of the dialog's target. So nobody waits for a row here, but where the
   numbers of a dialog came apart (usp_DropCopies).
   No trigger, foreign key or check may be put on this table: OUTPUT INTO refuses them (331 to 333). */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[SentMessage]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[SentMessage]
    (
        ConversationId uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        SentUtc datetime2(3) NOT NULL CONSTRAINT [DF_SentMessage_SentUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_SentMessage] PRIMARY KEY CLUSTERED (ConversationId, MessageSequence)
    );
    ALTER TABLE [audit].[SentMessage] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [audit].[usp_Mark] N'TABLE', N'SentMessage';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Which dialog a key sends on. The row is the token of the dialog: whoever deletes it may send
   EndOfStream, once.
   - Clustered key of 404 bytes at most: four service-sized columns (1,024 bytes) would not fit the
     900 bytes of a clustered key.
   - ConversationKey has the database's collation, so that joins with other tables raise no 468; keys
     it holds equal share a dialog, which only lets their senders wait for each other.
   - Handle is unique apart from the key, so it has an index and locks of its own. That
     index is never locked before the clustered key: see usp_RecycleConversation.
   - No page locks, no escalation: a lock on this table is a lock on one row.
   - No trigger, foreign key or indexed view may ever be put on this table: each takes locks that
     the proof in docs/facts.md does not know. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[SessionConversations]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[SessionConversations]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,   /* of the dialog; NULL: a placeholder, no dialog yet */
        Sent bigint NOT NULL                    /* messages sent on it: the next one's number */
            CONSTRAINT [DF_SessionConversations_Sent] DEFAULT (0),
        BegunUtc datetime2(3) NULL,             /* pool: NULL stands for an unused slot */
        RecycleAtUtc datetime2(3) NULL,         /* aged_out: replaced by the first send after this */
        RecycleAtMessages bigint NULL,          /* aged_out: or after this many messages */
        TransactionId bigint NULL,              /* the transaction that sent on it last */
        CONSTRAINT [PK_SessionConversations] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    CREATE UNIQUE NONCLUSTERED INDEX [UX_SessionConversations_Handle]
        ON [audit].[SessionConversations] (Handle)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [audit].[SessionConversations] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [audit].[usp_Mark] N'TABLE', N'SessionConversations';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Owned by dbo, not by our user: another configuration may share a type and outlive us. One of another
   validation is mended where it is ours alone: 29_change has refused anything else, and has drained (what
   is on its way was validated by the old rule). */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/audit/event')
BEGIN
    CREATE MESSAGE TYPE [//redial/audit/event] AUTHORIZATION [dbo] VALIDATION = NONE;
    EXECUTE [audit].[usp_Mark] N'MESSAGE TYPE', N'//redial/audit/event';
END
ELSE
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                   WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/audit/event' AND mt.validation = 'N')
        ALTER MESSAGE TYPE [//redial/audit/event] VALIDATION = NONE;
    EXECUTE [audit].[usp_Mark] N'MESSAGE TYPE', N'//redial/audit/event', @made = 0;
END;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream')
BEGIN
    CREATE MESSAGE TYPE [EndOfStream] AUTHORIZATION [dbo] VALIDATION = EMPTY;
    EXECUTE [audit].[usp_Mark] N'MESSAGE TYPE', N'EndOfStream';
END
ELSE
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt
                   WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream' AND mt.validation = 'E')
        ALTER MESSAGE TYPE [EndOfStream] VALIDATION = EMPTY;
    EXECUTE [audit].[usp_Mark] N'MESSAGE TYPE', N'EndOfStream', @made = 0;
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* One way: every message is sent by the initiator. Owned by dbo, see the message types. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
BEGIN
    CREATE CONTRACT [//redial/audit/contract] AUTHORIZATION [dbo]
    (
        [//redial/audit/event] SENT BY INITIATOR,
        [EndOfStream] SENT BY INITIATOR
    );
    EXECUTE [audit].[usp_Mark] N'CONTRACT', N'//redial/audit/contract';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'CONTRACT', N'//redial/audit/contract', @made = 0;

/* BEGIN DIALOG needs REFERENCES on the contract (begin-dialog-conversation page); the owner is dbo.
   On the types it makes them visible to usp_AcquireConversation (metadata-visibility-configuration). */
GRANT REFERENCES ON CONTRACT::[//redial/audit/contract] TO [audit_module];
GRANT REFERENCES ON MESSAGE TYPE::[//redial/audit/event] TO [audit_module];
GRANT REFERENCES ON MESSAGE TYPE::[EndOfStream] TO [audit_module];
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* POISON_MESSAGE_HANDLING stays on with up to four readers: no path of ours rolls a RECEIVE back in normal
   work, so five rollbacks mean a fault that must stop the queue rather than spin. Five readers or more
   may reach five together when the disk is full: there it is off. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE QUEUE [audit].[InitiatorQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE [audit].[usp_Mark] N'QUEUE', N'InitiatorQueue';
    COMMIT TRANSACTION;
END;
ELSE IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[InitiatorQueue]'))
    EXECUTE [audit].[usp_Mark] N'QUEUE', N'InitiatorQueue';      /* taken away by hand */
IF OBJECT_ID(N'[audit].[TargetQueue]', N'SQ') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE QUEUE [audit].[TargetQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE [audit].[usp_Mark] N'QUEUE', N'TargetQueue';
    COMMIT TRANSACTION;
END;
ELSE IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[TargetQueue]'))
    EXECUTE [audit].[usp_Mark] N'QUEUE', N'TargetQueue';      /* taken away by hand */
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Owned by the module user: the right to SEND to the target service is checked against the owner of
   the initiating service, and an owner needs no grant. One on another queue than the configuration
   names is moved: 29_change has drained, so nothing is in the old one. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
BEGIN
    CREATE SERVICE [//redial/audit/initiator] AUTHORIZATION [audit_module]
        ON QUEUE [audit].[InitiatorQueue];
    EXECUTE [audit].[usp_Mark] N'SERVICE', N'//redial/audit/initiator';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator'
                      AND s.service_queue_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ'))
    ALTER SERVICE [//redial/audit/initiator] ON QUEUE [audit].[InitiatorQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target')
BEGIN
    CREATE SERVICE [//redial/audit/target] AUTHORIZATION [audit_module]
        ON QUEUE [audit].[TargetQueue] ([//redial/audit/contract]);
    EXECUTE [audit].[usp_Mark] N'SERVICE', N'//redial/audit/target';
END
ELSE IF NOT EXISTS (SELECT 1 FROM sys.services AS s
                    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target'
                      AND s.service_queue_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ'))
    ALTER SERVICE [//redial/audit/target] ON QUEUE [audit].[TargetQueue];
/* A new version of the contract beside those that live dialogs still use: conversations that exist
   are not touched by ADD CONTRACT (alter-service page). 88_cleanup takes versions away again. */
IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.services AS s ON s.service_id = u.service_id
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target' AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/audit/contract')
    ALTER SERVICE [//redial/audit/target] (ADD CONTRACT [//redial/audit/contract]);
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Rows of one RECEIVE, numbered in queue order, as usp_LandBatch and usp_FindPoison take them. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'audit') AND tt.name = N'ReceivedBatch')
BEGIN
    BEGIN TRANSACTION;
    CREATE TYPE [audit].[ReceivedBatch] AS TABLE
    (
        RowId int IDENTITY (1, 1) NOT NULL PRIMARY KEY CLUSTERED,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL
    );
    EXECUTE [audit].[usp_Mark] N'TYPE', N'ReceivedBatch';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [audit].[ufn_ReadEnvelope](
    @body varbinary(max)
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration audit */
/* The header usp_Send puts before a body, and the body: always one row. Bytes, numbers big-endian:
     1-4  the mark 'RDL1'        5-6  length of the header     7-22 message id, zeros for none
    23-30 sequence in the key   31-38 milliseconds since 1970, UTC
    39-46 four lengths in bytes: key, login, program, host; then these four in UTF-16LE.
   Nothing here can raise an error, whatever the bytes are: a body without a whole header comes back as it
   is, with NULL in every other column. */
RETURN
(
    SELECT
        CASE WHEN h.IsWhole = 1 THEN NULLIF(CONVERT(uniqueidentifier, CONVERT(binary(16), SUBSTRING(@body, 7, 16))),
            CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')) END AS MessageId,
        CASE WHEN h.IsWhole = 1 THEN NULLIF(CONVERT(bigint, SUBSTRING(@body, 23, 8)), 0) END AS KeySequence,
        CASE WHEN h.IsWhole = 1 AND n.Sent BETWEEN 0 AND 253402300799999    /* the last moment a datetime2 has */
            THEN DATEADD(millisecond, CONVERT(int, n.Sent % 86400000),
                DATEADD(day, CONVERT(int, n.Sent / 86400000), CONVERT(datetime2(3), '1970-01-01'))) END AS SentUtc,
        CASE WHEN h.IsWhole = 1 AND n.KeyBytes > 0
            THEN CONVERT(nvarchar(200), SUBSTRING(@body, 47, n.KeyBytes)) END AS ConversationKey,
        CASE WHEN h.IsWhole = 1 AND n.LoginBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes, n.LoginBytes)) END AS SenderLogin,
        CASE WHEN h.IsWhole = 1 AND n.AppBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes + n.LoginBytes, n.AppBytes)) END AS SenderApp,
        CASE WHEN h.IsWhole = 1 AND n.HostBytes > 0
            THEN CONVERT(nvarchar(128), SUBSTRING(@body, 47 + n.KeyBytes + n.LoginBytes + n.AppBytes, n.HostBytes)) END AS SenderHost,
        CASE WHEN ISNULL(h.IsWhole, 0) = 0 THEN @body
            /* By its length: a comparison with 0x takes a body of zero bytes for an empty one. */
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
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ArmTimer]
    @handle uniqueidentifier,
    @seconds int
AS
/* Redial 0.1.0, configuration audit */
/* Sets the conversation timer where it can be set. Takes G and nothing else. Refused where the dialog is gone
   (8426), has ended (8458) or would outlive its lifetime (8410): a message then ends it, so none is needed. */
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
CREATE OR ALTER PROCEDURE [audit].[usp_DropCopies]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* for ErrorLog */
    @rows [audit].[ReceivedBatch] READONLY   /* what has been accounted for */
AS
/* Redial 0.1.0, configuration audit */
/* Takes away one copy for each message that has been accounted for: that of its number and content, else
   the oldest of its content. The sender's count and the broker's numbers can come apart: somebody else sends
   on the dialog, a SEND is undone and its number not given back, a client cancels between a SEND and its
   copy and commits. So nothing that is still to come is left without a copy. Said in ErrorLog, once for
   each dialog. Called in a transaction that owns the group of the dialog's target. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    DECLARE @found TABLE (RowId int NOT NULL PRIMARY KEY);
    DECLARE @row int = 0, @sequence bigint, @messageType nvarchar(256), @body varbinary(max),
        @message nvarchar(2048);
    DECLARE @first bigint = NULL;       /* the first without a copy of its number */

    /* By key, one by one: a range may meet a sender's new key. */
    DELETE sm
    OUTPUT r.RowId INTO @found (RowId)
    FROM @rows AS r
    INNER JOIN [audit].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
        ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
    WHERE r.MessageType IN (N'', sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(r.Body, 0x)
    OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; without FORCE ORDER: 8625 */

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row
          AND r.MessageType NOT IN (N'EndOfStream',
              N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
              N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
          AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.RowId = r.RowId)
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @first = ISNULL(@first, @sequence);
        WITH oldest AS (
            SELECT TOP (1) sm.MessageSequence
            FROM [audit].[SentMessage] AS sm
                /* READPAST: what a sender is just writing has not arrived. FORCESEEK: this dialog's. */
                WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)
            WHERE sm.ConversationId = @conversationId
              AND @messageType IN (N'', sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(@body, 0x)
            ORDER BY sm.MessageSequence
        )

        DELETE FROM oldest;
    END;

    /* Once: not if it stands among the last thousand lines. */
    IF @first IS NOT NULL
       AND NOT EXISTS (SELECT 1
                       FROM (SELECT TOP (1000) el.ProcedureName, el.ConversationHandle
                             FROM [audit].[ErrorLog] AS el WITH (NOLOCK)     /* waits for nobody */
                             ORDER BY el.ErrorLogId DESC) AS el
                       WHERE el.ConversationHandle = @handle AND el.ProcedureName = N'usp_DropCopies')
    BEGIN
        SET @message = CONCAT(N'Message ', @first, N' of this dialog has no copy of its number: somebody else sends on it, or a client cancelled a call and committed. Nothing is lost: copies are found by their content. Next: see who else may send on dialogs of service ''//redial/audit/initiator''.');
        EXECUTE [audit].[usp_LogError] @procedureName = N'usp_DropCopies', @handle = @handle,
            @sequence = @first, @message = @message;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LogError]
    @procedureName nvarchar(128),
    @handle uniqueidentifier = NULL,    /* the conversation it happened on, if any */
    @sequence bigint = NULL,            /* of the message it happened with, if any */
    @message nvarchar(4000) = NULL      /* NULL: the error of the CATCH block this is called from */
AS
/* Redial 0.1.0, configuration audit */
BEGIN
    SET NOCOUNT ON;
    DECLARE @number int = ERROR_NUMBER(), @line int = ERROR_LINE();
    SET @message = ISNULL(@message, ERROR_MESSAGE());
    BEGIN TRY
        INSERT INTO [audit].[ErrorLog]
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
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ReadErrorBody]
    @messageBody varbinary(max),
    @code int OUTPUT,                   /* NULL when the body cannot be read */
    @description nvarchar(3000) OUTPUT  /* the body itself then, as far as there is room */
AS
/* Redial 0.1.0, configuration audit */
/* Code and description of an Error message. Only TRY_ conversions: a malformed body dooms no RECEIVE. A
   description may hold what XML may not (0x01, half a surrogate pair): then the body is read as text. */
BEGIN
    SET NOCOUNT ON;
    /* Methods of xml want these (1934). */
    SET ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    DECLARE @body xml = TRY_CONVERT(xml, @messageBody),
        @text nvarchar(max) = CONVERT(nvarchar(max), @messageBody), @number nvarchar(20), @from int,
        @to int;

    WITH XMLNAMESPACES ('http://schemas.microsoft.com/SQL/ServiceBroker/Error' AS ssb)
    SELECT
        @number = @body.value('(/ssb:Error/ssb:Code)[1]', 'nvarchar(20)'),
        @description = @body.value('(/ssb:Error/ssb:Description)[1]', 'nvarchar(3000)');

    IF @body IS NULL
    BEGIN
        SELECT @from = CHARINDEX(N'<Code>', @text) + 6, @to = CHARINDEX(N'</Code>', @text);
        IF @from > 6 AND @to > @from
            SET @number = SUBSTRING(@text, @from, @to - @from);
        SELECT @from = CHARINDEX(N'<Description>', @text) + 13, @to = CHARINDEX(N'</Description>', @text);
        IF @from > 13 AND @to > @from
            SET @description = REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(SUBSTRING(@text, @from, @to - @from),
                N'&lt;', N'<'), N'&gt;', N'>'), N'&quot;', N'"'), N'&apos;', N''''), N'&amp;', N'&');
    END;

    /* With a digit: nothing would be 0, no error. */
    SET @code = CASE WHEN @number LIKE N'%[0-9]%' THEN TRY_CONVERT(int, @number) END;
    IF @code IS NULL
        SET @description = LEFT(CONCAT(N'An Error message without a code that can be read. ', @description, N' Its body: ',
            ISNULL(CONVERT(nvarchar(max), SUBSTRING(@messageBody, 1, 1400), 1), N'none')), 3000);
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RecordPoison]
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @attempts int = 1                   /* how many rollbacks to count */
AS
/* Redial 0.1.0, configuration audit */
/* Counts rollbacks against one queue row, after the rollback: so the count outlives it. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @number int = ERROR_NUMBER(), @message nvarchar(3000) = LEFT(ERROR_MESSAGE(), 3000),
        @written bit = 0;

    WHILE @written = 0
    BEGIN
        UPDATE pa
        SET Attempts = pa.Attempts + @attempts, LastUtc = SYSUTCDATETIME(), ErrorNumber = @number, ErrorMessage = @message
        FROM [audit].[PoisonAttempt] AS pa
            WITH (ROWLOCK, FORCESEEK)   /* a scan would wait for who waits for us */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = @sequence AND pa.MessageType = @messageType;
        IF @@ROWCOUNT > 0
            RETURN 0;
        BEGIN TRY
            INSERT INTO [audit].[PoisonAttempt]
                (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc, ErrorNumber, ErrorMessage)
            VALUES
                (@handle, @sequence, @messageType, @attempts, SYSUTCDATETIME(), @number, @message);
            SET @written = 1;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() <> 2627 OR XACT_STATE() = -1
                THROW;                  /* 2627: another reader was first */
        END CATCH;
    END;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SendEndOfStream]
    @handle uniqueidentifier
AS
/* Redial 0.1.0, configuration audit */
/* Closes a dialog: the target ends it behind all before. Only for a transaction that has taken the row that led to
   it, or began it: so it is sent once and nothing follows. Takes G, then its row of ConversationLog. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @sent bigint = NULL;

    IF @@TRANCOUNT = 0
        THROW 50121, N'usp_SendEndOfStream must be called inside the transaction that took the conversation from its senders.', 1;

    SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];

    SELECT @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own change; R and G held: no wait */
    WHERE ce.conversation_handle = @handle;

    UPDATE cl
    SET EndOfStreamUtc = SYSUTCDATETIME(), Messages = @sent - 1     /* the last number was EndOfStream's */
    FROM [audit].[ConversationLog] AS cl WITH (ROWLOCK, FORCESEEK)     /* this row only */
    WHERE cl.Handle = @handle;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SendPrivately]
    @messages [audit].[ReceivedBatch] READONLY,   /* sent in the order of RowId, byte for byte */
    @resendOf uniqueidentifier,         /* for ConversationLog: whose they were */
    @reason nvarchar(3000) = NULL,      /* for ConversationLog */
    @most int = NULL,                   /* only the first so many, none behind a refused one; NULL: all */
    @sent int = NULL OUTPUT,            /* how many went out on it */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration audit */
/* Sends messages again on a dialog of their own: no row leads to it and it has no timer, so nobody else sends on
   it, and its EndOfStream follows at once. If it fails too, its own Error comes back to us. Called inside a
   transaction. Locks: the group of the new dialog. A server may refuse a body only behind its SEND (8429):
   with @most the refused message is the last one here, and what is behind it the caller's to send. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* all of it or nothing */
    DECLARE @conversationId uniqueidentifier, @row int = 0, @messageType nvarchar(256),
        @body varbinary(max), @last int = 0, @state char(2);

    IF @@TRANCOUNT = 0
        THROW 50124, N'usp_SendPrivately must be called inside the transaction that takes the messages from where they are.', 1;

    SELECT @handle = NULL, @sent = 0;
    BEGIN DIALOG CONVERSATION @handle
        FROM SERVICE [//redial/audit/initiator] TO SERVICE N'//redial/audit/target'
        ON CONTRACT [//redial/audit/contract]
        WITH LIFETIME = 2592000, ENCRYPTION = OFF;

    SELECT @conversationId = ce.conversation_id
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own row, just made */
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
            SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle;
        IF @state NOT IN ('SO', 'CO')
            BREAK;
    END;

    /* The numbers the broker gives them: from 0 on. */
    INSERT INTO [audit].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
    SELECT @conversationId, ROW_NUMBER() OVER (ORDER BY m.RowId) - 1, m.MessageType, m.Body
    FROM @messages AS m
    WHERE m.RowId <= @last;

    IF ISNULL(@state, 'SO') IN ('SO', 'CO')
    BEGIN
        SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];
    END;

    INSERT INTO [audit].[ConversationLog]
        (Handle, ConversationId, ConfigId, ResendOf, EndOfStreamUtc, Messages, Reason)
    VALUES (@handle, @conversationId, 1, @resendOf, SYSUTCDATETIME(), @sent, @reason);
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_WaitForServer]
    @handle uniqueidentifier,           /* the conversation it happened on, for ErrorLog */
    @queueId int,                       /* the queue of the reader that waits */
    @conversationId uniqueidentifier = NULL,    /* of the batch; an old reader passes neither */
    @rows [audit].[ReceivedBatch] READONLY    /* the batch that was rolled back */
AS
/* Redial 0.1.0, configuration audit */
/* After a rollback that no row is to blame for (disk or log full, memory, a lock): five in a row switch the queue
   off. So the batch is tried and undone until it would land; without one, something is written and undone.
   Between two attempts we wait, holding nothing: a second (five before the first without a batch), then longer,
   a minute at most. Returns 0 it would work, or fails for another reason; 1 the queue was switched off meanwhile. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    DECLARE @since datetime2(3) = SYSUTCDATETIME(), @seconds int = 0, @delay char(8), @message nvarchar(4000), @copies int;
    DECLARE @batch bit = CASE WHEN EXISTS (SELECT 1 FROM @rows) THEN 1 ELSE 0 END;

    IF @batch = 0
        WAITFOR DELAY '00:00:05';
    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            IF @batch = 0
                INSERT INTO [audit].[ErrorLog] (ProcedureName, ErrorMessage) VALUES (N'usp_WaitForServer', REPLICATE(N'x', 4000));
            /* The sender's copies first, as the reader does. XLOCK: waits as the DELETE would. */
            SELECT @copies = COUNT(*)
            FROM @rows AS r
            INNER JOIN [audit].[SentMessage] AS sm WITH (XLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
                ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
            OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; without FORCE ORDER: 8625 */
            IF @batch = 1
                EXECUTE [audit].[usp_LandBatch] @conversationId, @handle, @rows, @rehearse = 1;
            ROLLBACK TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                BREAK;                  /* something else: the next RECEIVE finds what */
        END CATCH;

        IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                       WHERE q.object_id = @queueId AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            RETURN 1;
        SET @seconds = CASE WHEN @seconds = 0 THEN 1 WHEN @seconds < 30 THEN @seconds * 2 ELSE 60 END;
        SET @delay = CONVERT(char(8), DATEADD(second, @seconds, CONVERT(datetime, 0)), 108);
        WAITFOR DELAY @delay;
    END;

    IF @seconds > 0
    BEGIN
        SET @message = CONCAT(N'It goes on after ', DATEDIFF(second, @since, SYSUTCDATETIME()),
            N' seconds of waiting: see the error before. Nothing was lost.');
        EXECUTE [audit].[usp_LogError] @procedureName = N'usp_WaitForServer', @handle = @handle, @message = @message;
    END;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @rowHandle uniqueidentifier,        /* in the row now: a placeholder or a dead handle */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @vanished bit,                      /* 1: the dialog before is gone, and nobody was told */
    @handle uniqueidentifier OUTPUT
AS
/* Redial 0.1.0, configuration audit */
/* Begins a dialog and puts its handle into the row of a key. Called inside a transaction that holds
   the row R: row first, conversation group second. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @newHandle uniqueidentifier = NULL, @newId uniqueidentifier = NULL;
    /* A random spread: not all are recycled at once. */
    DECLARE @timeout int = 3600 + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601;

    /* It vanished: wake usp_ResendStranded soon. */
    IF @vanished = 1
        SET @timeout = 30;

    BEGIN TRY
        /* ---- 1  The dialog ---- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/audit/initiator] TO SERVICE N'//redial/audit/target'
            ON CONTRACT [//redial/audit/contract]
            WITH LIFETIME = 2592000, ENCRYPTION = OFF;

        /* The timer that will recycle it. */
        BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        SELECT @newId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* just made; R and G held: no wait */
        WHERE ce.conversation_handle = @newHandle;
        IF @newId IS NULL
            THROW 50104, N'User ''audit_module'' does not see in sys.conversation_endpoints the conversation it has just begun. Nothing was sent. Next: make it the owner of service ''//redial/audit/initiator'' and its queue.', 1;

        /* ---- 2  The handle into the row ---- */
        UPDATE sc
        SET Handle = @newHandle, ConversationId = @newId, Sent = 0
        FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* by Handle its index would be locked first */
        WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;

        /* ---- 3  The log row: only ever inserted here ---- */
        INSERT INTO [audit].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        VALUES (@newHandle, @newId, 1, @conversationKey);
        SELECT @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on must not commit a dialog nobody knows, nor a row
           that leads to it or to the one before, which has ended. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            DELETE sc
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND (sc.Handle = @rowHandle OR sc.Handle = @newHandle);

            IF @newHandle IS NOT NULL
                END CONVERSATION @newHandle;
        END;
        THROW;
    END CATCH;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_AcquireConversation]
    @conversationKey nvarchar(200),
    @deadHandle uniqueidentifier,       /* found dead in this call; NULL: nothing */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT,
    @messageType sysname = NULL         /* unused; a usp_Send not yet replaced passes it */
AS
/* Redial 0.1.0, configuration audit */
/* The dialog to send on, found by the row of its key, or begun. The caller's transaction then owns the row R
   to its end. Raises 50102 when the gate is closed, and in a transaction of usp_Send's own 2627 when another
   one made the key's row meanwhile (start over). Locks: R; then the groups of dialogs closed or begun here. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @rowHandle uniqueidentifier = NULL, @placeholder uniqueidentifier, @tries int = 0,
        @state char(2) = NULL, @vanished bit = 0;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @placed bit = 0;            /* 1: our row is a placeholder, without dialog */
    DECLARE @sent bigint;
    DECLARE @endsUtc datetime;
    DECLARE @sentBy bigint;             /* the transaction that sent last */

    IF @@TRANCOUNT = 0
        THROW 50103, N'usp_AcquireConversation must be called inside the transaction that sends: its row lock is what keeps the conversation open.', 1;
    BEGIN TRY
        /* ---- 1  R ---- */
        WHILE @rowHandle IS NULL
        BEGIN
            SET @tries = @tries + 1;
            SET @handle = NULL;
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* UPDLOCK: nobody closes the dialog before the caller's SEND commits. The rest: this row alone. */
                WITH (UPDLOCK, ROWLOCK, FORCESEEK)
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey;
            SET @rowHandle = @handle;

            /* ---- 2  First use: the row before the dialog, with a unique placeholder ---- */
            IF @rowHandle IS NULL
            BEGIN
                SET @placeholder = NEWID();
                BEGIN TRY
                    IF @ownsTransaction = 0
                        SET XACT_ABORT OFF;     /* a key taken meanwhile dooms no caller's work; caught under OFF */
                    INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
                    VALUES (1, @conversationKey, @placeholder);
                    SELECT @rowHandle = @placeholder, @placed = 1;
                END TRY
                BEGIN CATCH
                    /* 2627: another one made it and has committed: look it up. */
                    IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1 OR @tries >= 5
                        THROW;
                END CATCH;
                IF @callerAborts = 1
                    SET XACT_ABORT ON;
            END;
        END;

        /* ---- 3  The gate, read after R is held: a drain closes it first ---- */
        IF EXISTS (SELECT 1 FROM [audit].[Gate] AS g WITH (FORCESEEK) WHERE g.ConfigId = 1 AND g.IsOpen = 0)
            THROW 50102, N'The gate is closed: this configuration is being drained. Nothing was sent. Next: send again when usp_OpenGate has been called.', 1;

        /* ---- 4  Its state: SEND on a dead handle may doom the transaction. NULL: ended by hand, nobody told ---- */
        IF @placed = 0
        BEGIN
            SELECT @state = ce.state, @sent = ce.send_sequence, @endsUtc = ce.lifetime
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* R is held: wait for nobody */
            WHERE ce.conversation_handle = @handle;
            IF @state IS NULL
                SET @vanished = 1;
        END;

        /* ---- 5  Its time has come: closed by us, who own the row ---- */
        /* Not after a dead one: that attempt is for sending. Nor where this transaction has sent: its order. */
        IF @deadHandle IS NULL AND @state IN ('SO', 'CO')
           AND ((ISNULL(@sentBy, -1) <> CURRENT_TRANSACTION_ID()
                 AND (@endsUtc <= DATEADD(second, 3690, GETUTCDATE()))))
        BEGIN
            BEGIN TRY
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;     /* a dead dialog dooms no caller's work */
                EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
            END TRY
            BEGIN CATCH
                /* 8426, 8429: dead, nobody need be told; where that doomed, usp_Send starts over. */
                IF ERROR_NUMBER() NOT IN (8426, 8429) OR XACT_STATE() <> 1
                BEGIN
                    /* EndOfStream went out: no caller may commit a row that leads behind it. */
                    IF @ownsTransaction = 0 AND XACT_STATE() = 1
                       AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                                   WHERE ce.conversation_handle = @handle AND ce.send_sequence > @sent)
                        DELETE sc
                        FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                        WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;
                    THROW;
                END;
            END CATCH;
            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;
            SET @deadHandle = @handle;      /* the next one begins below */
        END;

        /* ---- 6  First use, or a dialog of no more use: begin one in the same row ---- */
        IF @placed = 1 OR @vanished = 1 OR @handle = @deadHandle OR @state IN ('DI', 'DO', 'ER', 'CD')
            EXECUTE [audit].[usp_BeginConversation] @conversationKey = @conversationKey, @rowHandle = @rowHandle,
                @ownsTransaction = @ownsTransaction, @vanished = @vanished, @handle = @handle OUTPUT;
    END TRY
    BEGIN CATCH
        /* A caller who goes on must not commit a placeholder; usp_Send rolls back its own. */
        IF @ownsTransaction = 0 AND @placed = 1 AND XACT_STATE() = 1
            DELETE sc
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @rowHandle;
        THROW;
    END CATCH;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_Send]
    @fromService sysname = N'//redial/audit/initiator',  /* may be left out: the only one */
    @toService sysname = N'//redial/audit/target',  /* likewise */
    @onContract sysname = N'//redial/audit/contract',  /* likewise: the newest */
    @messageType sysname = N'//redial/audit/event',  /* likewise */
    @messageBody varbinary(max),        /* NULL and empty both arrive as NULL */
    @key nvarchar(4000) = NULL,         /* not used with key = spid: must be NULL */
    @messageId uniqueidentifier = NULL  /* not used with delivery = at_least_once: must be NULL */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Sends one message, or raises: never returns 0 without the message being part of the transaction. No result
   set. The message goes out with a copy (SentMessage) that stays until it has landed.
   Locks: the row R that leads to the conversation; the row of Gate, while it is read; the conversation group G.
   All else to the end of the transaction (the caller's if there is one). Nothing else is waited for. */
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;     /* no range locks, no 3960; ends with this procedure */
    DECLARE @ownsTransaction bit, @callerAborts bit, @errors nvarchar(4000),
        @conversationKey nvarchar(200), @handle uniqueidentifier, @deadHandle uniqueidentifier;
    DECLARE @sentBy bigint;             /* the transaction that sent last */
    DECLARE @body varbinary(max), @keySequence bigint;
    DECLARE @error int, @attempt int;

    /* ---- 1  Inputs: every wrong one is named, then one error is raised. Types byte for byte, as SEND does ---- */
    SELECT @attempt = 0,
        @ownsTransaction = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @callerAborts = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END,
        @conversationKey = CONVERT(nvarchar(200), @@SPID),
        @errors = CONCAT(
            CASE WHEN ISNULL(@fromService, N'') <> N'//redial/audit/initiator'
                THEN N'@fromService must be ''//redial/audit/initiator''. ' END,
            CASE WHEN ISNULL(@toService, N'') <> N'//redial/audit/target'
                THEN N'@toService must be ''//redial/audit/target''. ' END,
            CASE WHEN ISNULL(@onContract, N'') <> N'//redial/audit/contract'
                THEN N'@onContract must be ''//redial/audit/contract''. ' END,
            CASE WHEN ISNULL(@messageType, N'') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/event')
                THEN N'@messageType must be one of: ''//redial/audit/event''. ' END,

            CASE WHEN @key IS NOT NULL
                THEN N'@key must be NULL: this configuration has key = spid. ' END,
            CASE WHEN @messageId IS NOT NULL
                THEN N'@messageId must be NULL: this configuration has delivery = at_least_once. ' END);

    IF @errors <> N''
    BEGIN
        SET @errors = LEFT(RTRIM(@errors), 2040);
        THROW 50100, @errors, 1;
    END;

    /* ---- 2  Look up, send; start over when the dialog is found dead (bounded) ---- */
    WHILE 1 = 1
    BEGIN
        SELECT @attempt = @attempt + 1, @handle = NULL;
        BEGIN TRY
            /* -- 2.1  Look-up and SEND are one transaction: the row's lock stays -- */
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel leaves nothing */
                BEGIN TRANSACTION;
            END;

            /* -- 2.2  R, and with it the right to send on the conversation it leads to -- */
            SELECT @handle = sc.Handle, @sentBy = sc.TransactionId
            FROM [audit].[SessionConversations] AS sc
                /* UPDLOCK: nobody closes the dialog before the caller's SEND commits. The rest: this row alone. */
                WITH (UPDLOCK, ROWLOCK, FORCESEEK)
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey;

            /* No row, a dialog that is over or due, a closed gate: that takes more. The state first: SEND on a
               dead handle may doom the transaction. NOLOCK: R is held, wait for nobody. */
            IF @handle IS NULL OR @attempt > 1
               OR NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                              WHERE ce.conversation_handle = @handle AND ce.state IN ('SO', 'CO')
                                AND (ce.lifetime > DATEADD(second, 3690, GETUTCDATE()) OR @sentBy = CURRENT_TRANSACTION_ID()))
               OR EXISTS (SELECT 1 FROM [audit].[Gate] AS g WITH (FORCESEEK) WHERE g.ConfigId = 1 AND g.IsOpen = 0)
                EXECUTE [audit].[usp_AcquireConversation] @conversationKey = @conversationKey, @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction, @handle = @handle OUTPUT;

            SET @body = (0x52444C31 + CONVERT(binary(2), 46 + ISNULL(DATALENGTH(ORIGINAL_LOGIN()), 0) + ISNULL(DATALENGTH(APP_NAME()), 0) + ISNULL(DATALENGTH(HOST_NAME()), 0))
                    + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')))
                    + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
                    + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), '1970-01-01'), SYSUTCDATETIME()))
                    + 0x0000
                    + CONVERT(binary(2), ISNULL(DATALENGTH(ORIGINAL_LOGIN()), 0))
                    + CONVERT(binary(2), ISNULL(DATALENGTH(APP_NAME()), 0))
                    + CONVERT(binary(2), ISNULL(DATALENGTH(HOST_NAME()), 0))
                    + CONVERT(varbinary(1168), CONCAT(N'', ORIGINAL_LOGIN(), APP_NAME(), HOST_NAME()))
                    ) + ISNULL(@messageBody, 0x);

            /* -- 2.3  G. A dead handle dooms no caller's work -- */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;
            SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);

            /* -- 2.4  The copy. ON: no message is committed without it -- */
            SET XACT_ABORT ON;
            UPDATE sc
            SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here */
            OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
            INTO [audit].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
            FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
            WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
            IF @@ROWCOUNT <> 1
                THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;
            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();
            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW: as the caller had it */
            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: dead; 2627: somebody else made the row. All else is the caller's to know. */
            IF @error NOT IN (8426, 8429, 2627) OR @attempt >= 5 OR (@ownsTransaction = 0 AND XACT_STATE() <> 1)
                THROW;

            /* Zeros: dead, handle unknown; the next attempt closes nothing. */
            IF @error <> 2627
                SET @deadHandle = ISNULL(@handle, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000'));
        END CATCH;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RecycleConversation]
    @handle uniqueidentifier,
    @sendEndOfStream bit,               /* 1: its time has come. 0: the dialog has ended, drop its row */
    @waitMs int = 0                     /* how long to wait for the row; 0: not at all */
AS
/* Redial 0.1.0, configuration audit */
/* The second transaction of two_phase: takes R, then G, as usp_Send does. It waits for
   R a bounded time, holding nothing. Who deletes the row sends EndOfStream: once.
   Returns 0 done, 1 the row is busy (the timer comes again), 2 logged an error, 3 no row leads to it. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read opens a transaction */
    DECLARE @conversationKey nvarchar(200), @taken int = 0, @lockTimeout int = @@LOCK_TIMEOUT;

    /* ---- 1  Empty hands: no lock may be held on entry ---- */
    IF @@TRANCOUNT <> 0
        THROW 50120, N'usp_RecycleConversation must be called outside a transaction: it takes the row before the conversation group.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* ---- 2  Handle to key, holding nothing ---- */
            SET @conversationKey = NULL;
            SET @taken = 0;
            SELECT @conversationKey = sc.ConversationKey
            FROM [audit].[SessionConversations] AS sc
                /* NOWAIT: a sender may be writing this entry. READCOMMITTEDLOCK: a row version would
                   call an entry that is being written gone. */
                WITH (NOWAIT, READCOMMITTEDLOCK, FORCESEEK)
            WHERE sc.Handle = @handle;

            /* ---- 3  R, then G ---- */
            IF @conversationKey IS NOT NULL
            BEGIN
                BEGIN TRANSACTION;
                SET LOCK_TIMEOUT @waitMs;       /* for R alone; 0 is NOWAIT */
                DELETE sc
                FROM [audit].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as senders do: by Handle it would deadlock */
                WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
                SET @taken = @@ROWCOUNT;
                SET LOCK_TIMEOUT @lockTimeout;

                IF @taken = 1 AND @sendEndOfStream = 1
                    EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
                COMMIT TRANSACTION;
            END;

            /* ---- 4  Nothing left to retry: the re-armed timer goes far away, G alone ---- */
            IF @sendEndOfStream = 1
                EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 3600;

            RETURN CASE WHEN @taken = 1 THEN 0 ELSE 3 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            SET LOCK_TIMEOUT @lockTimeout;
            IF ERROR_NUMBER() = 1222
                RETURN 1;

            /* Dead, nobody need be told: delete the row. */
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
CREATE OR ALTER PROCEDURE [audit].[usp_MoveCopies]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the initiator's; where gone, @conversationId */
    @code int,                          /* of the Error message; 0: without one; NULL: unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said */
    @allowResend bit = 1,               /* 0: dead-letter everything */
    @waitMs int = 0,                    /* how long to wait for its reader */
    @target uniqueidentifier = '00000000-0000-0000-0000-000000000000',  /* zeros: look it up; NULL: none */
    @resent bigint = NULL OUTPUT,       /* messages on a dialog of their own now */
    @deadLettered bigint = NULL OUTPUT  /* messages in DeadLetter now */
AS
/* Redial 0.1.0, configuration audit */
/* What a dialog has not landed goes on: on a dialog of its own, or to DeadLetter, byte-exact. Called in a
   transaction that knows that no sender is at work on the dialog, now or later.
   Ends the target's side first: nothing lands any more. Locks: the target's conversation group, then the
   copies. Returns 0, or 1: a reader is at work on the dialog, and the caller rolls all of it back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @state char(2), @lockTimeout int = @@LOCK_TIMEOUT;
    DECLARE @newHandle uniqueidentifier, @earlier uniqueidentifier = @handle,
        @rows [audit].[ReceivedBatch], @rowCount int;
    DECLARE @resends int = 0;           /* how often sent again already */
    DECLARE @bad TABLE (RowId int NOT NULL PRIMARY KEY, IsDead bit NOT NULL);   /* refused, or alone */
    DECLARE @sent int, @alone int, @left int, @goesOn bit;
    DECLARE @number nvarchar(3000);     /* the last one in the error's text */
    DECLARE @most int;                  /* on one dialog */

    SELECT @resent = 0, @deadLettered = 0;

    IF @@TRANCOUNT = 0
        THROW 50125, N'usp_MoveCopies must be called inside the transaction that has made sure that nobody sends on the dialog.', 1;

    /* The ordinary end, all has landed: no look at all endpoints below. */
    IF @code >= 0
       AND NOT EXISTS (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = @conversationId)
        RETURN 0;

    /* ---- 1  The target's side: END deletes what is unread there, its copies are here. NOLOCK: END looks again ---- */
    IF @target = '00000000-0000-0000-0000-000000000000'
        SET @target = (SELECT TOP (1) ce.conversation_handle FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                       WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 0);
    SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @target;

    IF @target IS NOT NULL
    BEGIN
        BEGIN TRY
            SET XACT_ABORT OFF;         /* for END alone: its errors are decided below */
            SET LOCK_TIMEOUT @waitMs;
            /* DO, CD: another END may doom (8427, 8426). A read that waits: its END may be undone. */
            IF @state IN ('DO', 'CD')
                SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @target;
            IF @state NOT IN ('DO', 'CD')
                END CONVERSATION @target;
        END TRY
        BEGIN CATCH
            /* A lock that did not come, doomed or not. */
            IF ERROR_NUMBER() IN (1205, 1222)
                RETURN 1;
            /* 8426, 8427: ended meanwhile; where that dooms, the next look sees it. */
            IF ERROR_NUMBER() NOT IN (8426, 8427)
                THROW;
            IF XACT_STATE() <> 1
                RETURN 1;
        END CATCH;
        SET LOCK_TIMEOUT @lockTimeout;
        SET XACT_ABORT ON;
    END;

    /* ---- 2  What has not landed, in its order ---- */
    INSERT INTO @rows (MessageSequence, MessageType, Body)
    SELECT sm.MessageSequence, sm.MessageType, sm.Body
    FROM [audit].[SentMessage] AS sm WITH (UPDLOCK, ROWLOCK, FORCESEEK)      /* two find it: one after the other */
    WHERE sm.ConversationId = @conversationId
    ORDER BY sm.MessageSequence;

    SELECT @rowCount = @@ROWCOUNT, @most = @@ROWCOUNT;
    IF @rowCount = 0
        RETURN 0;

    /* That END was undone: its reader lands them. */
    IF @state = 'CD' AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                                 WHERE ce.conversation_handle = @target AND ce.state <> 'CD')
        RETURN 1;

    /* Somebody may end every dialog at once: not for ever. */
    WHILE @resends < 20
    BEGIN
        SELECT @earlier = cl.ResendOf
        FROM [audit].[ConversationLog] AS cl WITH (NOLOCK)    /* written once, when it began */
        WHERE cl.Handle = @earlier AND cl.ResendOf IS NOT NULL;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @resends = @resends + 1;
    END;

    /* ---- 3  Refused for a body: the one that its type's rule or the error's last number names; others
              that break the rule go alone. Named by neither: in two halves, until one is left ---- */
    IF @code IN (-8430, -9615, -9616)
    BEGIN
        SET @number = REVERSE(@description);
        SET @number = STUFF(@number, 1, PATINDEX(N'%[0-9]%', @number) - 1, N'');
        SET @number = REVERSE(LEFT(@number, PATINDEX(N'%[^0-9]%', @number + N' ') - 1));

        INSERT INTO @bad (RowId, IsDead)
        SELECT r.RowId, CASE WHEN COUNT(*) OVER () > 1000       /* not a dialog for each of so many */
            OR ROW_NUMBER() OVER (ORDER BY w.Breaks + w.IsNamed DESC, w.Breaks DESC, r.RowId ASC) = 1 THEN 1 ELSE 0 END
        FROM @rows AS r
        LEFT OUTER JOIN sys.service_message_types AS mt
            ON mt.name COLLATE Latin1_General_BIN2 = r.MessageType COLLATE Latin1_General_BIN2
        CROSS APPLY
            (SELECT CASE WHEN r.Body IS NOT NULL AND (mt.validation = 'E' OR (mt.validation = 'X' AND TRY_CONVERT(xml, r.Body) IS NULL)) THEN 1 ELSE 0 END AS Breaks,
                CASE WHEN @code <> -8430 AND r.MessageSequence = TRY_CONVERT(bigint, @number) THEN 1 ELSE 0 END AS IsNamed) AS w
        WHERE w.Breaks = 1 OR w.IsNamed = 1 OR @rowCount = 1;
        IF @@ROWCOUNT = 0 OR @resends = 20
            SET @most = (@rowCount + 1) / 2;
    END
    ELSE IF @resends = 20
        SET @description = LEFT(CONCAT(N'Sent again 20 times, and every dialog was ended. ', @description), 3000);

    /* ---- 4  Again, after errors that blame no message; else, and after twenty times, to DeadLetter ---- */
    SET @goesOn = CASE WHEN @allowResend = 1 AND (@code IN (-8430, -9615, -9616) OR (@resends < 20 AND @code IN (0, -8489, -8462, -9719, -9720, -28052)))
        THEN 1 ELSE 0 END;
    INSERT INTO [audit].[DeadLetter]
        (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
    SELECT N'initiator', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body, @code, @description
    FROM @rows AS r
    WHERE @goesOn = 0 OR EXISTS (SELECT 1 FROM @bad AS b WHERE b.RowId = r.RowId AND b.IsDead = 1)
    ORDER BY r.RowId;
    SET @left = @rowCount - @@ROWCOUNT;
    SET @deadLettered = @rowCount - @left;

    /* What goes on, and no more. */
    DELETE sm
    FROM @rows AS r
    INNER JOIN [audit].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
        ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
    OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; without FORCE ORDER: 8625 */

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
        EXECUTE [audit].[usp_SendPrivately] @messages = @rows, @resendOf = @handle, @reason = @description,
            @most = @most, @sent = @sent OUTPUT, @handle = @newHandle OUTPUT;
        SELECT @left -= @sent, @resent += @sent;
        DELETE r FROM @rows AS r
        WHERE r.RowId IN (SELECT TOP (@sent) f.RowId FROM @rows AS f ORDER BY f.RowId);
    END;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ResendPending]
    @handle uniqueidentifier,           /* the initiator's, of the dialog that ended */
    @code int,                          /* of the Error message; 0: EndDialog; NULL: unreadable */
    @description nvarchar(3000) = NULL, /* what the Error message said */
    @allowResend bit = 1,                /* 0: dead-letter everything */
    @waitMs int = 1000                  /* for a reader of the target; 0: an old activation */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Ends a dialog and accounts for each of its messages that has not landed: sent again, or to DeadLetter. One
   transaction: millions need room in the log for three times their bytes; activation takes up to 100000.
   Locks: the group of @handle, then of its target, of the dialog begun here; never R. Returns 0, or 1: a reader
   of the target is at work on it, and nothing was done (in a caller's transaction error 50113). */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut the list */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @conversationId uniqueidentifier, @state char(2), @sent bigint, @resent bigint,
        @deadLettered bigint;
    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @busy int;

    IF @waitMs = 0                      /* an old activation: it repeats this outside RECEIVE */
        RETURN 1;

    /* ---- 1  Ours, and the side that sends. NOLOCK: the caller may hold G ---- */
    IF NOT EXISTS (SELECT 1
                   FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                   INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                   WHERE ce.conversation_handle = @handle AND ce.is_initiator = 1
                     AND s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/initiator')
        THROW 50112, N'@handle must be the initiator''s handle of a conversation of service ''//redial/audit/initiator'' that is still in sys.conversation_endpoints. Nothing was ended.', 1;

    SET XACT_ABORT ON;                  /* in a caller's too: no END behind a failure */
    IF @ownsTransaction = 1
        BEGIN TRANSACTION;

    SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle;
    /* Ended by hand here. A read that waits: that may be undone. */
    IF @state = 'DO'
    BEGIN
        SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle;
        IF @state IN ('SO', 'CO')
            THROW 50112, N'@handle was being ended by somebody who then rolled back, so its conversation is open as before. Nothing was ended.', 1;
    END;

    /* Open: take G before anything is read, so that no copy is added. */
    IF @state IN ('SO', 'CO')
        EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;

    SELECT @conversationId = ce.conversation_id, @state = ce.state, @sent = ce.send_sequence
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own endpoint */
    WHERE ce.conversation_handle = @handle;

    /* ---- 2  END takes G: it waits for open transactions that have sent. WITH ERROR where the dialog is open:
              a plain END would deliver what is in sys.transmission_queue. DO: ended by hand already ---- */
    IF @state IN ('SO', 'CO')
        END CONVERSATION @handle WITH ERROR = 50111
            DESCRIPTION = N'Given up by usp_ResendPending: what had not landed was sent again or dead-lettered.';
    ELSE IF @state <> 'DO'
        END CONVERSATION @handle;

    /* ---- 3  What has not landed ---- */
    EXECUTE @busy = [audit].[usp_MoveCopies] @conversationId = @conversationId, @handle = @handle, @code = @code, @description = @description,
        @allowResend = @allowResend, @waitMs = @waitMs, @resent = @resent OUTPUT, @deadLettered = @deadLettered OUTPUT;
    IF @busy <> 0
    BEGIN
        IF @ownsTransaction = 0         /* a savepoint may not undo END */
            THROW 50113, N'A reader of the target is at work on the dialog of @handle. This transaction can only be rolled back. Next: call again, outside a transaction.', 1;
        ROLLBACK TRANSACTION;
        RETURN 1;
    END;

    /* Its log row after G, as readers do. */
    UPDATE cl
    SET EndedUtc = SYSUTCDATETIME(), Messages = ISNULL(cl.Messages, @sent), Resent = @resent,
        DeadLettered = @deadLettered, Code = @code, Reason = @description
    FROM [audit].[ConversationLog] AS cl WITH (ROWLOCK, FORCESEEK)     /* this row only */
    WHERE cl.Handle = @handle;

    DELETE pa
    FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* under G: no scan */
    WHERE pa.ConversationHandle IN (@handle, @conversationId);      /* usp_ResendStranded's too */

    IF @ownsTransaction = 1
        COMMIT TRANSACTION;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndInitiator]
    @handle uniqueidentifier,
    @messageType nvarchar(256),
    @sequence bigint,
    @body varbinary(max),
    @inside bit                         /* 0: end nothing here, only write it down */
AS
/* Redial 0.1.0, configuration audit */
/* The answer to EndDialog and Error, in the transaction that has received it: ends a dialog that has left
   nothing behind, under G, waiting for nobody. Returns 0; or 1: what the message said is written down and the
   dialog stays for usp_ResendLeft, since ending the target may wait. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @left int = 0, @description nvarchar(3000);
    DECLARE @code int = 0;              /* of an Error message; 0: EndDialog; NULL: unreadable */
    DECLARE @copies int;                /* not landed; counted to one above the limit */

    IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'
        EXECUTE [audit].[usp_ReadErrorBody] @messageBody = @body,
            @code = @code OUTPUT, @description = @description OUTPUT;

    SELECT @copies = COUNT(*)
    FROM (SELECT TOP (100001) sm.MessageSequence
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)       /* our own endpoint, under G */
          INNER JOIN [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)    /* a size, no decision on a row */
              ON sm.ConversationId = ce.conversation_id
          WHERE ce.conversation_handle = @handle) AS p;

    IF @inside = 0 OR @copies > 0 OR ISNULL(@code, -1) < 0
    BEGIN
        UPDATE cl
        SET Code = @code, Reason = @description
        FROM [audit].[ConversationLog] AS cl WITH (ROWLOCK, FORCESEEK)     /* this row only */
        WHERE cl.Handle = @handle;
        SET @left = @@ROWCOUNT;
    END;

    /* No row: not ours, refused here, so that its message is kept. */
    IF @left = 0
        EXECUTE [audit].[usp_ResendPending] @handle = @handle, @code = @code, @description = @description;

    /* A very large one fills the log: for somebody who has looked first. */
    IF @copies > 100000
    BEGIN
        SET @description = CONCAT(N'Not ended: more than 100000 messages have not landed. Nothing is lost. Next: see that there is room in the log for three times their bytes; then EXECUTE [audit].[usp_ResendPending] @handle = ''',
            @handle, N''', @code = ', ISNULL(CONVERT(nvarchar(12), @code), N'NULL'), N'; ', @description);
        EXECUTE [audit].[usp_LogError] @procedureName = N'usp_SenderActivation',
            @handle = @handle, @sequence = @sequence, @message = @description;
    END
    ELSE IF @left = 1
        /* The mark: 0 attempts blame nothing. It goes with the dialog. */
        INSERT INTO [audit].[PoisonAttempt] (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc)
        SELECT @handle, -4, N'usp_ResendLeft', 0, SYSUTCDATETIME()
        WHERE NOT EXISTS (SELECT 1 FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK)   /* one row, under G */
                          WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -4 AND pa.MessageType = N'usp_ResendLeft');
    RETURN @left;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ResendLeft]
AS
/* Redial 0.1.0, configuration audit */
/* What usp_EndInitiator has left, by its marks: usp_ResendPending for each, with nothing around it that a failure
   would roll back. A lock that does not come, or the server's set-up, blames nothing, and the mark stays. Any other
   error is counted, 30 seconds apart; after five the copies go to DeadLetter. Returns 0, or 1: marks have
   stayed. Raises the server's own trouble. */
BEGIN
    SET NOCOUNT ON;
    SET LOCK_TIMEOUT 10000;             /* other dialogs are waiting for us */
    DECLARE @handle uniqueidentifier, @code int, @description nvarchar(3000), @allowResend bit;
    DECLARE @last uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @counted bit;               /* 1: it has failed a moment ago */
    DECLARE @busy int;
    DECLARE @attempts int, @stays int = 0;

    IF @@TRANCOUNT <> 0
        THROW 50127, N'usp_ResendLeft must be called outside a transaction: it may wait, and nothing may be held meanwhile.', 1;

    WHILE 1 = 1
    BEGIN
        SET @handle = NULL;
        SELECT TOP (1) @handle = pa.ConversationHandle, @code = cl.Code, @description = cl.Reason,
            @allowResend = CASE WHEN pa.Attempts < 5 THEN 1 ELSE 0 END,
            @counted = CASE WHEN pa.ErrorNumber IS NOT NULL AND ABS(DATEDIFF_BIG(millisecond, pa.LastUtc, SYSUTCDATETIME())) < 30000 THEN 1 ELSE 0 END
        FROM [audit].[PoisonAttempt] AS pa WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)   /* one being written: its reader's */
        INNER JOIN [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)      /* written before the mark */
            ON cl.Handle = pa.ConversationHandle
        WHERE pa.ConversationHandle > @last AND pa.MessageSequence = -4 AND pa.MessageType = N'usp_ResendLeft'
        ORDER BY pa.ConversationHandle;
        IF @handle IS NULL
            RETURN @stays;
        SET @last = @handle;
        BEGIN TRY
            EXECUTE @busy = [audit].[usp_ResendPending] @handle = @handle, @code = @code, @description = @description,
                @allowResend = @allowResend, @waitMs = 100;
            SET @stays = @stays | @busy;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906))
                THROW;
            SET @stays = 1;

            /* 50112, 8426: somebody else is ending it, and may roll back: the mark stays a while. */
            IF ERROR_NUMBER() IN (50112, 8426)
                DELETE pa
                FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* no scan over others' rows */
                WHERE pa.ConversationHandle = @handle AND pa.LastUtc < DATEADD(minute, -10, SYSUTCDATETIME());
            ELSE IF @counted = 0 AND ERROR_NUMBER() NOT IN (1205, 1222)
            BEGIN
                SET @attempts = CASE WHEN ERROR_NUMBER() = 8427 OR ERROR_NUMBER() IN (208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009) THEN 0 ELSE 1 END;
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_ResendLeft', @handle = @handle;
                EXECUTE [audit].[usp_RecordPoison] @handle = @handle, @sequence = -4,
                    @messageType = N'usp_ResendLeft', @attempts = @attempts;
            END;
        END CATCH;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ResendStranded]
    @olderThanSeconds int = 30,         /* 0 and up: younger copies are left alone */
    @most int = 100000,                 /* 1 and up: a dialog with more copies is left alone */
    @endsToo bit = 1,                   /* 1: also end dialogs that have failed and have no copies left */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Ends and accounts for dialogs that have copies (SentMessage) and cannot deliver them: the initiator's side is
   gone, or has ended or failed unhandled. First the list, a seek each, then a transaction each. An error is logged
   and the next one follows; after five errors of one dialog its copies go to DeadLetter. Returns 0. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read opens a transaction */
    SET ROWCOUNT 0;                     /* a caller's would cut the list */
    IF @@LOCK_TIMEOUT NOT BETWEEN 0 AND 10000
        SET LOCK_TIMEOUT 10000;         /* others are stranded too */

    DECLARE @sentUtc datetime2(3), @handle uniqueidentifier, @state char(2), @code int,
        @description nvarchar(3000), @resend bit, @busy int, @copies bigint, @tooLarge int = 0;
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @counted bit;               /* 1: it has failed a moment ago */
    DECLARE @found int;                 /* 1, then the number of a dialog in the list */
    DECLARE @target uniqueidentifier;
    DECLARE @stranded TABLE (RowId int IDENTITY, ConversationId uniqueidentifier NOT NULL, Handle uniqueidentifier NULL, State char(2) NULL,
        Code int NULL, Reason nvarchar(3000) NULL, Target uniqueidentifier NULL, PRIMARY KEY (ConversationId, RowId));

    /* -- 1  Help and inputs -- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_ResendStranded sends again what a dialog of configuration audit has left behind that was ended by
hand (END CONVERSATION by somebody else, WITH CLEANUP, NEW_BROKER): nobody is told of such an end.
  @olderThanSeconds  0 and up, 30 by default: younger copies are left alone
  @most              1 and up, 100000 by default: a dialog with more is left to a call that allows for more
  @endsToo           1 (default): also end dialogs that have failed and have nothing left to send; one look at all endpoints
Activation of the initiator''s queue and usp_Drain call it too. Look first: [audit].[vw_Unlanded].
Example: EXECUTE [audit].[usp_ResendStranded] @olderThanSeconds = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50123, N'usp_ResendStranded must be called outside a transaction: each dialog is accounted for in one of its own.', 1;
    IF ISNULL(@olderThanSeconds, -1) < 0 OR ISNULL(@most, 0) < 1 OR @endsToo IS NULL
        THROW 50126, N'@olderThanSeconds must be 0 or more. @most must be 1 or more. @endsToo must be 0 or 1.', 1;

    WHILE 1 = 1
    BEGIN
        /* -- 2  The next dialog with copies, by its oldest -- */
        SET @found = 0;
        SELECT TOP (1) @found = 1, @conversationId = sm.ConversationId, @sentUtc = sm.SentUtc
        FROM [audit].[SentMessage] AS sm WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)     /* one being sent is not stranded */
        WHERE sm.ConversationId > @conversationId
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @found = 0
            BREAK;
        /* A time to come is not young: the clock was set back. */
        IF ABS(DATEDIFF_BIG(millisecond, @sentUtc, SYSUTCDATETIME())) < 1000 * CONVERT(bigint, @olderThanSeconds)
            CONTINUE;
        SELECT @handle = NULL, @state = NULL, @code = 0, @description = NULL;
        SELECT @handle = cl.Handle, @code = ISNULL(cl.Code, 0), @description = cl.Reason
        FROM [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)   /* written once */
        WHERE cl.ConversationId = @conversationId;
        IF @handle IS NULL                      /* its row was deleted by hand */
            SELECT @handle = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        SELECT @state = ce.state FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle;
        IF @state IN ('SO', 'CO')       /* open: it delivers, or tells its end */
            CONTINUE;

        /* A very large one fills the log: for somebody who has looked first. */
        SELECT @copies = COUNT_BIG(*)
        FROM (SELECT TOP (@most + CONVERT(bigint, 1)) sm.MessageSequence FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
              WHERE sm.ConversationId = @conversationId) AS p;      /* a size, no decision on a row */
        IF @copies > @most
            SET @tooLarge += 1;
        ELSE
            INSERT INTO @stranded (ConversationId, Handle, State, Code, Reason)
            VALUES (@conversationId, @handle, @state, @code, @description);
    END;

    /* All has landed, but activation met a reader at work, and its end is still to come. */
    IF @endsToo = 1
        INSERT INTO @stranded (ConversationId, Handle, State, Code, Reason)
        SELECT ce.conversation_id, ce.conversation_handle, ce.state, cl.Code, cl.Reason
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* both: looked at again under locks */
        INNER JOIN [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)
            ON cl.Handle = ce.conversation_handle
        WHERE ce.is_initiator = 1 AND ce.state IN ('DI', 'ER') AND cl.EndedUtc IS NULL
          AND (cl.Code IS NOT NULL OR cl.Reason IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id);

    /* The targets of those that are gone: one look at all endpoints. */
    IF EXISTS (SELECT 1 FROM @stranded AS s WHERE s.State IS NULL)
        UPDATE s
        SET Target = ce.conversation_handle
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
        INNER JOIN @stranded AS s ON s.ConversationId = ce.conversation_id AND s.State IS NULL
        WHERE ce.is_initiator = 0
        OPTION (FORCE ORDER);           /* one pass: the table variable is sought */

    WHILE 1 = 1
    BEGIN
        SET @found = 0;
        SELECT TOP (1) @found = s.RowId, @conversationId = s.ConversationId, @handle = s.Handle, @state = s.State,
            @code = s.Code, @description = s.Reason, @target = s.Target,
            @resend = CASE WHEN pa.Attempts >= 5 THEN 0 ELSE 1 END,
            @counted = CASE WHEN ABS(DATEDIFF_BIG(millisecond, pa.LastUtc, SYSUTCDATETIME())) < 30000 THEN 1 ELSE 0 END
        FROM @stranded AS s
        LEFT OUTER JOIN [audit].[PoisonAttempt] AS pa WITH (NOLOCK, FORCESEEK)  /* written by this procedure, below */
            ON pa.ConversationHandle = s.ConversationId
        ORDER BY s.ConversationId, s.RowId;
        IF @found = 0
            BREAK;
        DELETE FROM @stranded WHERE ConversationId = @conversationId AND RowId = @found;
        BEGIN TRY
            /* -- 3  Ended or failed, and left: as activation would have done -- */
            IF @state IS NOT NULL
            BEGIN
                EXECUTE [audit].[usp_ResendPending] @handle = @handle, @code = @code,
                    @description = @description, @allowResend = @resend;
                /* Its Error may go unread: nobody else drops the row. */
                EXECUTE [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
            END
            /* -- 4  Gone: its copies are nobody's -- */
            ELSE
            BEGIN
                SELECT @busy = 0, @description = ISNULL(@description, N'Its dialog was ended by hand.');
                BEGIN TRANSACTION;
                /* Not by NOLOCK: its END may be undone. */
                IF NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.conversation_handle = @handle)
                    EXECUTE @busy = [audit].[usp_MoveCopies] @conversationId = @conversationId, @handle = @conversationId,
                        @code = @code, @description = @description, @allowResend = @resend, @waitMs = 10000, @target = @target;
                IF @busy = 0
                    COMMIT TRANSACTION;
                ELSE
                    ROLLBACK TRANSACTION;
            END;

            /* Its errors are forgotten with its copies. */
            DELETE pa
            FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)
            WHERE pa.ConversationHandle = @conversationId
              AND NOT EXISTS (SELECT 1 FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = @conversationId);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* 50112, 8426: somebody else has just done it. */
            IF ERROR_NUMBER() NOT IN (50112, 8426)
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_ResendStranded', @handle = @handle;

            /* Counted, unless it is a lock or the server's trouble, or within 30 seconds: a drain asks again. */
            IF @counted = 0 AND NOT (ERROR_NUMBER() IN (50112, 8426) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
                EXECUTE [audit].[usp_RecordPoison] @handle = @conversationId, @sequence = -1,
                    @messageType = N'usp_ResendStranded';
        END CATCH;
    END;

    /* Not in activation (@endsToo = 0): a PRINT is a line in the server's log. */
    IF @tooLarge > 0 AND @endsToo = 1
        PRINT CONCAT(N'usp_ResendStranded left ', @tooLarge, N' dialogs alone: each has more than ', @most,
            N' copies, and all of a dialog goes in one transaction. Look at vw_Unlanded and the room in the log, then call again with a larger @most.');
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_SenderActivation]
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Empties the initiator's queue: timers recycle a dialog, EndDialog and Error end it. One message per
   transaction, which owns the conversation group only; R is for a second transaction, behind it. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* what an error does is decided below */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @handle uniqueidentifier, @messageType nvarchar(256), @sequence bigint, @body varbinary(max),
        @poisoned bit;
    DECLARE @attempts int;              /* how often this message was rolled back */
    DECLARE @inside bit = 1;            /* 0: a lock was met, end no dialog inside a RECEIVE */
    DECLARE @left int;                  /* 1: the dialog was not ended in transaction 1 */
    DECLARE @stays int = 0;             /* 1: one that was not is still there */
    DECLARE @rung bit = 0;              /* 1: a timer was received */
    DECLARE @result int;
    DECLARE @waitMs int;
    DECLARE @phase tinyint = 0;         /* 0 receiving, 1 received, 2 transaction 1 committed */
    DECLARE @rollbacks int = 0;         /* receives rolled back in a row */
    DECLARE @none [audit].[ReceivedBatch];
    DECLARE @queueId int = OBJECT_ID(N'[audit].[InitiatorQueue]');
    DECLARE @until datetime2(3) = DATEADD(minute, 10, SYSUTCDATETIME());    /* then it is started again: nothing grows for ever */

    WHILE @rollbacks > 0 OR @stays = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        IF @phase = 2
            SET @rollbacks = 0;
        SET @handle = NULL;             /* RECEIVE without a row leaves it alone */
        SET @phase = 0;
        BEGIN TRY
            /* -- 1  Transaction 1: receive. From here on G is ours -- */
            BEGIN TRANSACTION;
            RECEIVE TOP (1) @handle = conversation_handle, @messageType = message_type_name, @sequence = message_sequence_number, @body = message_body
            FROM [audit].[InitiatorQueue];

            IF @handle IS NULL
            BEGIN
                COMMIT TRANSACTION;
                SELECT @phase = 2, @stays = 0;
                /* What is left, by a killed reader too: it stays until all is done. */
                IF EXISTS (SELECT 1 FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.MessageSequence = -4)
                    EXECUTE @stays = [audit].[usp_ResendLeft];

                /* A timer also stands for dialogs that were ended by hand. */
                IF @rung = 1
                BEGIN
                    SET @rung = 0;
                    EXECUTE [audit].[usp_ResendStranded] @endsToo = 0;
                END;
                IF @stays = 0
                    RETURN 0;
                WAITFOR DELAY '00:00:05';
                CONTINUE;
            END;

            SET @phase = 1;
            SET @sequence = ISNULL(@sequence, -1);   /* of a timer: not documented */
            SET @messageType = ISNULL(@messageType, N'');   /* the type may be dropped */
            SET @attempts = 0;
            SELECT @attempts = pa.Attempts
            FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK)  /* under G: no scan */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = @sequence AND pa.MessageType = @messageType;
            SET @poisoned = CASE WHEN @attempts >= 1 THEN 1 ELSE 0 END;

            /* -- 2  Timer: re-arm, commit (G is free again), only then look at R -- */
            IF @messageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer'
            BEGIN
                SET @rung = 1;
                /* Re-armed without looking: a read of R would be G then R. It retries after a crash. */
                IF @poisoned = 0
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
                COMMIT TRANSACTION;
                SET @phase = 2;

                /* A row that senders hand on is never free: an overdue dialog queues up for a second. */
                SET @waitMs = 0;
                IF EXISTS (SELECT 1 FROM [audit].[ConversationLog] AS cl WITH (NOLOCK)   /* never changes */
                           WHERE cl.Handle = @handle AND cl.BegunUtc < DATEADD(second, -4245, SYSUTCDATETIME()))
                    SET @waitMs = 1000;
                EXECUTE @result = [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1,
                    @waitMs = @waitMs;

                /* Kept out of transaction 1, where it failed once; a busy row must be asked again. */
                IF @poisoned = 1 AND @result IN (1, 2)
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 30;
            END
            /* -- 3  Ending failed even without a resend: set aside, below the five rollbacks -- */
            ELSE IF @attempts >= 2
            BEGIN
                INSERT INTO [audit].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES (N'initiator', @handle, @sequence, @messageType, @body,
                    N'Not ended, see ErrorLog for this handle. Next: usp_ResendPending with it.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END
            /* -- 4  EndDialog, Error: end under G where all has landed; else in a transaction of its own -- */
            ELSE IF @messageType IN (N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                                     N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            BEGIN
                EXECUTE @left = [audit].[usp_EndInitiator] @handle, @messageType, @sequence, @body, @inside;
                COMMIT TRANSACTION;
                SET @phase = 2;
                EXECUTE [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 0;
                IF @left <> 0
                    EXECUTE @stays = [audit].[usp_ResendLeft];
            END
            /* -- 5  Nothing else is in the contract for this side: kept, not dropped -- */
            ELSE
            BEGIN
                INSERT INTO [audit].[DeadLetter]
                    (Side, ConversationHandle, MessageSequence, MessageType, Body, Reason)
                VALUES (N'initiator', @handle, @sequence, @messageType, @body,
                    N'Unexpected message type on the initiator''s queue.');
                COMMIT TRANSACTION;
                SET @phase = 2;
            END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 9617   /* the queue is off: no news */
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_SenderActivation', @handle = @handle, @sequence = @sequence;

            /* The server's trouble or a lock: wait, holding nothing. RECEIVE's own error: leave, a loop would spin. */
            SET @left = CASE @phase WHEN 0 THEN 1 ELSE 0 END;
            IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
                EXECUTE @left = [audit].[usp_WaitForServer] @handle, @queueId, NULL, @none;
            IF @left <> 0
                RETURN 1;
            IF @phase = 0
            BEGIN
                SET @until = DATEADD(minute, 10, SYSUTCDATETIME());
                CONTINUE;
            END;

            SET @stays = 1;             /* look for what is left before leaving */
            /* A lock, or a dialog ended meanwhile, is not the message's fault, unless it goes on: five rollbacks. */
            IF @phase = 1
                SELECT @rollbacks = @rollbacks + 1,
                    @inside = CASE WHEN ERROR_NUMBER() IN (1205, 1222) THEN 0 ELSE @inside END;
            SET @attempts = CASE WHEN NOT (ERROR_NUMBER() IN (8426, 8427) OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))) THEN 1
                                 WHEN @rollbacks > 2 THEN 2 ELSE 0 END;
            IF @phase = 1 AND @attempts > 0
                EXECUTE [audit].[usp_RecordPoison] @handle = @handle, @sequence = @sequence,
                    @messageType = @messageType, @attempts = @attempts;
        END CATCH;
    END;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_CountRefusals]
    @handle uniqueidentifier,           /* its group is the caller's */
    @refused int,                       /* how many of a batch were dead-lettered */
    @rows int,                          /* of how many */
    @code int                           /* why, the last of them */
AS
/* Redial 0.1.0, configuration audit */
/* Counts what a conversation has refused in a row, in the transaction that dead-letters it. From 100 on it is
   slowed (usp_PickConversation), until something lands. Returns 2 when it is, or 0. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @before int, @message nvarchar(4000);

    IF @refused < @rows
    BEGIN
        DELETE pa
        FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -5;
        RETURN 0;
    END;

    SELECT @before = pa.Attempts
    FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row, nobody else's: under G */
    WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -5;
    IF @before IS NULL
        INSERT INTO [audit].[PoisonAttempt] (ConversationHandle, MessageSequence, MessageType, Attempts, LastUtc, ErrorNumber)
        VALUES (@handle, -5, N'refused', @refused, SYSUTCDATETIME(), @code);
    ELSE
        UPDATE pa
        SET Attempts = pa.Attempts + @refused, LastUtc = SYSUTCDATETIME(), ErrorNumber = @code
        FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -5;

    SET @before = ISNULL(@before, 0);
    IF @before + @refused < 100
        RETURN 0;
    IF @before < 100
    BEGIN
        SET @message = CONCAT(N'Slowed: ', @before + @refused, N' messages in a row are dead letters, the last with code ', @code,
            N'. One message a second is tried until one lands. Next: mend the cause (vw_DeadLetters).');
        EXECUTE [audit].[usp_LogError] @procedureName = N'usp_CountRefusals', @handle = @handle, @message = @message;
    END;
    RETURN 2;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LandRow]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @sequence bigint,
    @messageType nvarchar(256),
    @body varbinary(max)                /* as it came out of the queue */
AS
/* Redial 0.1.0, configuration audit */
/* Lands one row: for the row-by-row pass and the search for a poison row.
   Runs inside its caller's transaction; raises when the row cannot be processed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* the caller undoes one row */
    INSERT INTO [audit].[Landing]
        (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
         ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
    SELECT @conversationId, @handle, @sequence, @messageType, e.Body,
        e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
    FROM [audit].[ufn_ReadEnvelope](@body) AS e;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_LandBatch]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the target's; its group is the caller's, unless rehearsing */
    @rows [audit].[ReceivedBatch] READONLY,
    @rehearse bit = 0                   /* 1: nothing was received, and the caller undoes all of it */
AS
/* Redial 0.1.0, configuration audit */
/* Accounts for every row of one RECEIVE, inside its transaction: landed, or
   dead-lettered. Raises when the transaction is doomed or nothing can be written: its caller rolls back.
   Returns 2 when the conversation is slowed (usp_CountRefusals), or 0. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone, not doomed */
    DECLARE @done TABLE (RowId int NOT NULL PRIMARY KEY);   /* accounted for before landing */
    DECLARE @marks TABLE (RowId int NOT NULL PRIMARY KEY, Attempts int NOT NULL, ErrorNumber int NULL, ErrorMessage nvarchar(3000) NULL);
    DECLARE @whole bit = 0;             /* 1: the batch has landed as one */
    DECLARE @row int, @sequence bigint, @messageType nvarchar(256), @body varbinary(max);
    DECLARE @refused int = 0, @code int, @count int = (SELECT COUNT(*) FROM @rows), @slowed int = 0;

    IF @@TRANCOUNT = 0
        THROW 50212, N'usp_LandBatch must be called inside the transaction that received the rows.', 1;

    /* ---- 1  Rows known to be poison: dead-lettered unprocessed. The marks go with their rows ---- */
    IF @rehearse = 1
        SAVE TRANSACTION RedialRehearsal;   /* undone below: a trigger may commit */
    DELETE pa
    OUTPUT r.RowId, DELETED.Attempts, DELETED.ErrorNumber, DELETED.ErrorMessage
    INTO @marks (RowId, Attempts, ErrorNumber, ErrorMessage)
    FROM @rows AS r
    INNER JOIN [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)   /* under G: no scan */
        ON pa.ConversationHandle = @handle AND pa.MessageSequence = r.MessageSequence AND pa.MessageType = r.MessageType;
    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @done (RowId)
        SELECT m.RowId FROM @marks AS m WHERE m.Attempts >= 1;
        INSERT INTO [audit].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N'target', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body, m.ErrorNumber, m.ErrorMessage
        FROM @rows AS r
        INNER JOIN @marks AS m ON m.RowId = r.RowId
        INNER JOIN @done AS d ON d.RowId = r.RowId
        ORDER BY r.RowId;
        SELECT @refused = @@ROWCOUNT, @code = (SELECT MAX(m.ErrorNumber) FROM @marks AS m);
    END;

    IF @rehearse = 1
        ROLLBACK TRANSACTION RedialRehearsal;

    /* ---- 2  Land the batch as one ---- */
    BEGIN TRY
        INSERT INTO [audit].[Landing]
            (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
             ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
        SELECT @conversationId, @handle, r.MessageSequence, r.MessageType, e.Body,
            e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
        FROM @rows AS r
        CROSS APPLY [audit].[ufn_ReadEnvelope](r.Body) AS e
        WHERE NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;
        SET @whole = 1;
    END TRY
    BEGIN CATCH
        /* Doomed: usp_FindPoison finds the row. The server's trouble and locks blame none. */
        IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009))
            THROW;
    END CATCH;

    /* ---- 3  It cannot land as one: row by row, each under a savepoint ---- */
    SET @row = 0;
    WHILE @whole = 0
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row AND NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SAVE TRANSACTION RedialBeforeRow;   /* a hook's own savepoints have other names */
        BEGIN TRY
            EXECUTE [audit].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
        END TRY
        BEGIN CATCH
            /* Doomed, or the server's own trouble. */
            IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009))
                THROW;
            ROLLBACK TRANSACTION RedialBeforeRow;
            INSERT INTO [audit].[DeadLetter]
                (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
            VALUES (N'target', @conversationId, @handle, @sequence, @messageType, @body, ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
            SELECT @refused = @refused + 1, @code = ERROR_NUMBER();
        END CATCH;
    END;

    IF @rehearse = 0
        EXECUTE @slowed = [audit].[usp_CountRefusals] @handle, @refused, @count, @code;
    RETURN @slowed;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndTarget]
    @handle uniqueidentifier,
    @conversationId uniqueidentifier,
    @state char(2),                     /* of the endpoint; NULL: it is gone */
    @errorBody varbinary(max),          /* of an Error message; NULL: there was none */
    @spared uniqueidentifier,           /* whose END has failed before */
    @ended bit OUTPUT                   /* 1: all was sent, or the sender's side has ended */
AS
/* Redial 0.1.0, configuration audit */
/* Ends the target's side of a dialog that is over, in the transaction that has received and landed all of it.
   It ends first: EndDialog tells the initiator. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @code int = NULL, @description nvarchar(3000);
    DECLARE @initiator uniqueidentifier = NULL;

    IF @errorBody IS NOT NULL
        EXECUTE [audit].[usp_ReadErrorBody] @messageBody = @errorBody,
            @code = @code OUTPUT, @description = @description OUTPUT;
    IF @code > 0                        /* somebody has ended the sender's side */
        SET @ended = 1;

    /* The broker's own error (a negative code) is told to both sides, and a sender's transaction may be open: the
       sender's side ends both, unless it is gone. NOLOCK: waits for no sender. */
    IF @ended = 0
    BEGIN
        SELECT @initiator = cl.Handle
        FROM [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)   /* written once */
        WHERE cl.ConversationId = @conversationId;
        IF @initiator IS NULL                      /* its row was deleted by hand */
            SELECT @initiator = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
            WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;
        IF NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @initiator)
            SET @ended = 1;
    END;

    /* CLOSED or gone: nothing is left to end (8426). */
    IF @ended = 0 OR ISNULL(@state, 'CD') = 'CD'
        RETURN 0;

    IF @handle = @spared
    BEGIN
        EXECUTE [audit].[usp_LogError] @procedureName = N'usp_EndTarget', @handle = @handle,
            @message = N'All has landed; the conversation is left as it is, for its END has failed twice: see the errors before. Next: usp_EndLeaked.';
        RETURN 0;
    END;

    DELETE pa
    FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* under G: no scan */
    WHERE pa.ConversationHandle = @handle;
    END CONVERSATION @handle;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_FindPoison]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,
    @rows [audit].[ReceivedBatch] READONLY,   /* table variables survive the rollback */
    @lockErrors int = 0                 /* unused; a reader not yet replaced passes it */
AS
/* Redial 0.1.0, configuration audit */
/* After the one rollback of a doomed batch, in the CATCH of usp_TargetActivation: each row is tried alone and
   undone, without a RECEIVE; what fails is recorded, and who receives it next dead-letters it. A batch of one is to
   blame itself. Returns 0; 1 the queue was switched off while the server was in trouble; 2 this conversation waits
   for the server's set-up (usp_PickConversation). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    DECLARE @left int, @row int = 0, @sequence bigint, @messageType nvarchar(256), @body varbinary(max),
        @tried int = 0, @failed int = 0;
    DECLARE @queueId int = OBJECT_ID(N'[audit].[TargetQueue]');
    DECLARE @waits bit = 0;             /* 1: the first row meets the server's set-up */
    DECLARE @received bit = CASE WHEN @conversationId IS NULL AND NOT EXISTS (SELECT 1 FROM @rows) THEN 0 ELSE 1 END;

    IF ERROR_NUMBER() IN (208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009) AND EXISTS (SELECT 1 FROM @rows)
    BEGIN
        EXECUTE [audit].[usp_RecordPoison] @handle, -3, N'waits', 0;
        RETURN 2;
    END;

    /* The server's own trouble, or a lock: no row is to blame. 8426: what was chosen is gone. */
    IF ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222))
       OR (@received = 0 AND ERROR_NUMBER() IN (8426))
    BEGIN
        EXECUTE @left = [audit].[usp_WaitForServer] @handle, @queueId, @conversationId, @rows;
        RETURN @left;
    END;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
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
            /* The server's own trouble blames no row. */
            IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009))
            BEGIN
                EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType;
                SET @failed = @failed + 1;
            END
            ELSE IF @tried = 1 AND ERROR_NUMBER() IN (208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009)
            BEGIN                       /* the next RECEIVE would be rolled back for it */
                EXECUTE [audit].[usp_RecordPoison] @handle, -3, N'waits', 0;
                SET @waits = 1;
            END;
        END CATCH;
    END;

    IF @tried = 1 AND @failed = 0 AND @waits = 0
        EXECUTE [audit].[usp_RecordPoison] @handle, @sequence, @messageType;
    RETURN CASE @waits WHEN 1 THEN 2 ELSE 0 END;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_PickConversation]
    @several uniqueidentifier OUTPUT,   /* a batch of this conversation is next */
    @single uniqueidentifier OUTPUT,    /* of this one the first message is */
    @last uniqueidentifier = NULL OUTPUT    /* its group was chosen last: its turn comes last */
AS
/* Redial 0.1.0, configuration audit */
/* Chooses what to receive while RECEIVE must not choose. Holds nothing.
   A conversation waits for the server's set-up (PoisonAttempt, -3): five rollbacks would switch the queue off. So
   what is next is looked at, its landing tried and undone; what fails waits, and is tried again every 15 seconds
   (a difference of times, either way: a clock that was set back keeps nobody waiting).
   A conversation is slowed (-5, usp_CountRefusals): of all of these one message a second is next.
   Returns 1 with one of both, or 0: none is left. Raises 50214 when the queue is switched off. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    DECLARE @handle uniqueidentifier, @conversationId uniqueidentifier, @rows [audit].[ReceivedBatch];
    DECLARE @mark bigint;               /* of one that has waited already: -3 or -5 */
    DECLARE @waits bit = 0;             /* 1: it waits for the server's set-up */
    DECLARE @look bit;                  /* 1: some conversation does, so landings are tried */
    DECLARE @rounds int;                /* how often the search for the next group has come to the end */
    DECLARE @size int;                  /* how many of its messages are tried; 0: not even the first would land */

    SELECT @several = NULL, @single = NULL;
    WHILE ISNULL(@several, @single) IS NULL
    BEGIN
        SET @look = NULL;
        SELECT @look = MAX(CASE pa.MessageSequence WHEN -3 THEN 1 ELSE 0 END)
        FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK)
        WHERE (pa.MessageSequence = -3 OR (pa.MessageSequence = -5 AND pa.Attempts >= 100));
        IF @look IS NULL
            RETURN 0;
        IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                       WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]') AND q.is_receive_enabled = 1 AND q.is_activation_enabled = 1)
            THROW 50214, N'[audit].[TargetQueue] is switched off. Next: switch it on with its activation; what waits is looked at then.', 1;

        /* -- 1  One that has waited long enough, for one reader; else, in turn, one that does not wait. NOLOCK: RECEIVE looks again -- */
        SELECT @handle = NULL, @mark = NULL;
        IF @waits = 0
            SELECT TOP (1) @handle = pa.ConversationHandle, @mark = pa.MessageSequence
            FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK)
            WHERE (pa.MessageSequence = -3 AND ABS(DATEDIFF_BIG(millisecond, pa.LastUtc, SYSUTCDATETIME())) > 15000)
               OR (pa.MessageSequence = -5 AND pa.Attempts >= 100 AND NOT EXISTS (
                       SELECT 1 FROM [audit].[PoisonAttempt] AS o WITH (NOLOCK)
                       WHERE o.MessageSequence = -5 AND o.Attempts >= 100 AND ABS(DATEDIFF_BIG(millisecond, o.LastUtc, SYSUTCDATETIME())) < 1000))
            ORDER BY ABS(DATEDIFF_BIG(millisecond, pa.LastUtc, SYSUTCDATETIME())) DESC;
        UPDATE pa
        SET LastUtc = SYSUTCDATETIME()
        FROM [audit].[PoisonAttempt] AS pa WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)    /* one row, or another reader's */
        WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = @mark AND ABS(DATEDIFF_BIG(millisecond, pa.LastUtc, SYSUTCDATETIME())) >= 1000;
        IF @@ROWCOUNT = 0
            SELECT @handle = NULL, @mark = NULL;
        SET @waits = CASE @mark WHEN -3 THEN 1 ELSE 0 END;
        IF @mark = -5 AND NOT EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WITH (NOLOCK)
                                      WHERE q.conversation_handle = @handle)
        BEGIN                           /* nothing is left to be slowed */
            DELETE pa
            FROM [audit].[PoisonAttempt] AS pa WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK)    /* as above */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -5;
            CONTINUE;
        END;

        /* The groups in their order: a step of an index each, however many messages wait. */
        SELECT @rounds = 0, @last = ISNULL(@last, '00000000-0000-0000-0000-000000000000');
        WHILE @handle IS NULL AND @rounds < 2
        BEGIN
            SELECT TOP (1) @last = q.conversation_group_id, @handle = q.conversation_handle
            FROM [audit].[TargetQueue] AS q WITH (NOLOCK)
            WHERE q.status = 1 AND q.conversation_group_id > @last
            ORDER BY q.conversation_group_id;
            IF @@ROWCOUNT = 0
                SELECT @rounds = @rounds + 1, @last = '00000000-0000-0000-0000-000000000000';
            IF EXISTS (SELECT 1 FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE pa.ConversationHandle = @handle AND (pa.MessageSequence = -3 OR (pa.MessageSequence = -5 AND pa.Attempts >= 100)))
                SET @handle = NULL;
        END;

        IF @handle IS NULL
        BEGIN
            WAITFOR DELAY '00:00:01';
            CONTINUE;
        END;

        SET @size = CASE @mark WHEN -5 THEN 1 ELSE 500 END;
        IF @look = 0
        BEGIN
            SELECT @several = CASE WHEN @size > 1 THEN @handle END, @single = CASE @size WHEN 1 THEN @handle END;
            BREAK;
        END;

        /* -- 2  Would it land? A batch, else its first message; with an Error row all or nothing -- */
        SET @conversationId = NULL;
        SELECT @conversationId = ce.conversation_id
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* never changes */
        WHERE ce.conversation_handle = @handle;

        SET @size = CASE WHEN EXISTS (SELECT 1 FROM [audit].[TargetQueue] AS q WITH (NOLOCK)
                                      WHERE q.conversation_handle = @handle AND q.message_type_name = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            THEN 2147483647 ELSE @size END;
        WHILE @size > 0
        BEGIN
            DELETE FROM @rows;
            INSERT INTO @rows (MessageSequence, MessageType, Body)
            SELECT TOP (@size) ISNULL(q.message_sequence_number, -1), ISNULL(q.message_type_name, N''), q.message_body
            FROM [audit].[TargetQueue] AS q WITH (NOLOCK)
            WHERE q.conversation_handle = @handle
            ORDER BY q.queuing_order;
            BEGIN TRY
                BEGIN TRANSACTION;
                EXECUTE [audit].[usp_LandBatch] @conversationId, @handle, @rows, @rehearse = 1;
                ROLLBACK TRANSACTION;
                BREAK;
            END TRY
            BEGIN CATCH
                IF @@TRANCOUNT > 0
                    ROLLBACK TRANSACTION;
                IF NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009))
                    BREAK;              /* a message's own: who receives it finds it */

                SET @size = CASE WHEN @size BETWEEN 2 AND 500 THEN 1 ELSE 0 END;
                IF @size = 0 AND @waits = 0
                    EXECUTE [audit].[usp_LogError] @procedureName = N'usp_PickConversation', @handle = @handle;
                IF @size = 0
                    EXECUTE [audit].[usp_RecordPoison] @handle, -3, N'waits', 0;
            END CATCH;
        END;

        /* A batch would land: it waits no more. Its first message would: the next at once. */
        IF @waits = 1 AND @size >= 500
            DELETE pa
            FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3;
        ELSE IF @waits = 1 AND @size = 1
            UPDATE pa
            SET LastUtc = DATEADD(minute, -1, SYSUTCDATETIME())
            FROM [audit].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)     /* one row */
            WHERE pa.ConversationHandle = @handle AND pa.MessageSequence = -3;
        IF @size >= 500 AND EXISTS (SELECT 1 FROM @rows)
            SET @several = @handle;
        ELSE IF @size = 1 AND EXISTS (SELECT 1 FROM @rows)
            SET @single = @handle;
    END;
    RETURN 1;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_TakeTurn]
    @take bit                           /* 1: wait for the turn, 10 seconds at most; 0: give it back */
AS
/* Redial 0.1.0, configuration audit */
/* The turn to roll back, kept until something is committed: readers that meet doomed rows together would reach
   five rollbacks in a row. The session's lock outlives a rollback; of the module user, so that nobody
   else may ask. Returns 0 or more with the turn, -1 without it: refused or timed out, and then on without. */
BEGIN
    SET NOCOUNT ON;
    DECLARE @turn int = -1;
    DECLARE @name nvarchar(60) = CONCAT(N'Redial poison ', OBJECT_ID(N'[audit].[TargetQueue]'));
    BEGIN TRY
        IF @take = 1
            EXECUTE @turn = sys.sp_getapplock @Resource = @name, @LockMode = N'Exclusive',
                @LockOwner = N'Session', @LockTimeout = 10000, @DbPrincipal = N'audit_module';
        ELSE
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Session', @DbPrincipal = N'audit_module';
    END TRY
    BEGIN CATCH
        SET @turn = -1;
    END CATCH;
    RETURN @turn;
END;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_TargetActivation]
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Lands what arrives, a batch per transaction, and ends a dialog when it is over: the target ends
   first, always. Of senders' tables it
   touches SentMessage only: the copies of messages that have arrived. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone, not doomed */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 30000;             /* nobody holds messages and waits for ever */
    DECLARE @received TABLE (QueuingOrder bigint NULL, Handle uniqueidentifier NOT NULL,    /* RECEIVE's columns may be NULL: no key */
        MessageSequence bigint NULL, MessageType nvarchar(256) NULL, Body varbinary(max) NULL);
    DECLARE @handle uniqueidentifier, @conversationId uniqueidentifier, @state char(2),
        @errorBody varbinary(max);
    DECLARE @rows [audit].[ReceivedBatch];   /* numbered; RECEIVE INTO may not take it */
    DECLARE @ended bit;                 /* EndOfStream or the sender's end was seen */
    DECLARE @failed bit;                /* an Error row was seen: unread ones may follow */
    DECLARE @messages int;              /* of senders, in this batch */
    DECLARE @phase tinyint;             /* 0 receiving, 1 received, 2 landed */
    DECLARE @suspect uniqueidentifier;  /* rolled back: its first row comes next */
    DECLARE @few bit;                   /* 1: RECEIVE found no room in the log: one row */
    DECLARE @careful bit;               /* 1: one waits for the server's set-up, or is slowed */
    DECLARE @chosen uniqueidentifier;   /* usp_PickConversation's last one */
    DECLARE @spared uniqueidentifier;   /* its END has failed: not asked again */
    DECLARE @left int;
    DECLARE @turn int;                  /* 0 and up: this session may roll back */
    DECLARE @until datetime2(3);        /* then it is started again: nothing grows for ever */

    SELECT @until = DATEADD(minute, 10, SYSUTCDATETIME()), @turn = -1, @few = 0,
        @careful = CASE WHEN EXISTS (SELECT 1 FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK) WHERE (pa.MessageSequence = -3 OR (pa.MessageSequence = -5 AND pa.Attempts >= 100))) THEN 1 ELSE 0 END;
    WHILE @suspect IS NOT NULL OR @careful = 1 OR SYSUTCDATETIME() < @until
    BEGIN
        IF @turn >= 0 AND @suspect IS NULL     /* something has committed: the next one's turn */
            EXECUTE @turn = [audit].[usp_TakeTurn] @take = 0;
        SELECT @phase = 0, @handle = NULL, @failed = 0, @ended = 0, @errorBody = NULL, @conversationId = NULL, @state = NULL, @left = 0;
        DELETE FROM @received;
        BEGIN TRY
            /* -- 1  Receive. All rows are of one conversation: groups of this side hold one -- */
            IF @careful = 1 AND @suspect IS NULL    /* not one that waits: chosen by looking */
                EXECUTE @careful = [audit].[usp_PickConversation] @handle OUTPUT, @suspect OUTPUT, @chosen OUTPUT;
            BEGIN TRANSACTION;
            IF @few = 0 AND ISNULL(@suspect, @handle) IS NULL
                WAITFOR (RECEIVE TOP (500) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                         FROM [audit].[TargetQueue] INTO @received), TIMEOUT 1000;
            /* Of a suspect one row: it lands or is dead-lettered, so this commits. */
            ELSE IF @suspect IS NOT NULL
                RECEIVE TOP (1) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [audit].[TargetQueue] INTO @received WHERE conversation_handle = @suspect;
            ELSE IF @handle IS NOT NULL
                RECEIVE TOP (500) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [audit].[TargetQueue] INTO @received WHERE conversation_handle = @handle;
            ELSE
                RECEIVE TOP (1) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [audit].[TargetQueue] INTO @received;

            SELECT TOP (1) @handle = r.Handle, @phase = 1 FROM @received AS r;
            IF @phase = 0
            BEGIN
                COMMIT TRANSACTION;
                IF @suspect IS NULL AND @careful = 0
                    RETURN 0;
                IF @careful = 1
                    WAITFOR DELAY '00:00:00.020';   /* another reader has it: do not spin */
                SELECT @suspect = NULL;    /* another reader took its rows */
                CONTINUE;
            END;

            SELECT @conversationId = ce.conversation_id, @state = ce.state
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* our own endpoint, under G */
            WHERE ce.conversation_handle = @handle;

            WHILE 1 = 1
            BEGIN
                SELECT @failed = @failed | MAX(CASE r.MessageType WHEN N'http://schemas.microsoft.com/SQL/ServiceBroker/Error' THEN 1 ELSE 0 END),
                    @messages = SUM(CASE WHEN r.MessageType IN (N'EndOfStream',
                        N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                        N'http://schemas.microsoft.com/SQL/ServiceBroker/Error') THEN 0 ELSE 1 END),
                    @ended = @ended | MAX(CASE WHEN r.MessageType IN (N'EndOfStream',
                        N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog') THEN 1 ELSE 0 END)
                FROM @received AS r;

                /* -- 2  Land the batch -- */
                /* The sender's copies, first: a hook that commits the RECEIVE commits this. By key, for a range may
                   meet a sender's new one; by content, for the number is the sender's count. */
                SAVE TRANSACTION RedialBeforeCopies;
                DELETE sm
                FROM @received AS r
                INNER JOIN [audit].[SentMessage] AS sm WITH (ROWLOCK, FORCESEEK)
                    ON sm.ConversationId = @conversationId AND sm.MessageSequence = r.MessageSequence
                WHERE sm.MessageType = ISNULL(r.MessageType, sm.MessageType) AND ISNULL(sm.Body, 0x) = ISNULL(r.Body, 0x)
                OPTION (FORCE ORDER, LOOP JOIN, KEEPFIXED PLAN);    /* row by row, by key; without FORCE ORDER: 8625 */
                IF @@ROWCOUNT < @messages
                BEGIN
                    ROLLBACK TRANSACTION RedialBeforeCopies;
                    INSERT INTO @rows (MessageSequence, MessageType, Body)
                    SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
                    EXECUTE [audit].[usp_DropCopies] @conversationId, @handle, @rows;
                    DELETE FROM @rows;
                END;

                /* As one and at once, unless something is known against a row of this dialog. */
                IF NOT EXISTS (SELECT 1 FROM [audit].[PoisonAttempt] AS pa WITH (FORCESEEK) WHERE pa.ConversationHandle = @handle)
                BEGIN
                    BEGIN TRY
                        INSERT INTO [audit].[Landing]
                            (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
                             ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
                        SELECT @conversationId, @handle, ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), e.Body,
                            e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
                        FROM @received AS r
                        CROSS APPLY [audit].[ufn_ReadEnvelope](r.Body) AS e
                        ORDER BY r.QueuingOrder;
                        SET @phase = 2;
                    END TRY
                    BEGIN CATCH
                        /* Doomed, the server's trouble, or a lock: section 5. */
                        IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009))
                            THROW;
                    END CATCH;
                END;

                IF @phase = 1
                BEGIN
                    INSERT INTO @rows (MessageSequence, MessageType, Body)
                    SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
                    EXECUTE @left = [audit].[usp_LandBatch] @conversationId, @handle, @rows;
                    DELETE FROM @rows;
                    SET @phase = 2;     /* what fails from here on is no row's fault */
                END;

                /* -- 3  An Error row overtakes unread rows, which END would delete: take them first -- */
                IF @failed = 0
                    BREAK;
                SELECT @errorBody = r.Body FROM @received AS r WHERE r.MessageType = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error';
                DELETE FROM @received;
                RECEIVE TOP (500) queuing_order, conversation_handle, message_sequence_number, message_type_name, message_body
                FROM [audit].[TargetQueue] INTO @received WHERE conversation_handle = @handle;
                IF NOT EXISTS (SELECT 1 FROM @received)
                    BREAK;
                SET @phase = 1;
            END;

            /* -- 4  End -- */
            IF @failed = 1 OR @ended = 1
                EXECUTE [audit].[usp_EndTarget] @handle, @conversationId, @state, @errorBody, @spared, @ended OUTPUT;

            COMMIT TRANSACTION;
            SELECT @suspect = NULL, @few = 0, @careful = CASE @left WHEN 2 THEN 1 ELSE @careful END;
        END TRY
        BEGIN CATCH
            /* -- 5  Before it rolls back for a row's sake a reader takes its turn -- */
            IF @phase <> 0 AND @turn < 0 AND (@phase = 2 OR NOT ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 308, 315, 916, 942, 976, 2812, 7139, 8622, 8655, 15404, 15517, 33009)))
                EXECUTE @turn = [audit].[usp_TakeTurn] @take = 1;

            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() NOT IN (9617, 50214)      /* the queue is off: no news */
                EXECUTE [audit].[usp_LogError] @procedureName = N'usp_TargetActivation', @handle = @handle;

            /* RECEIVE failed: leave, do not spin; unless the trouble passes, or the chosen one is gone. */
            IF @phase = 0 AND NOT (ERROR_NUMBER() = 8426 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222)))
                BREAK;

            /* END failed twice: the dialog is left open. */
            IF @phase = 2 AND @suspect = @handle
                SET @spared = @handle;
            SET @suspect = CASE WHEN @phase > 0 OR ERROR_NUMBER() <> 8426 THEN ISNULL(@handle, @suspect) END;   /* NULL: RECEIVE failed */

            IF @phase = 1 AND NOT EXISTS (SELECT 1 FROM @rows)
                INSERT INTO @rows (MessageSequence, MessageType, Body)
                SELECT ISNULL(r.MessageSequence, -1), ISNULL(r.MessageType, N''), r.Body FROM @received AS r ORDER BY r.QueuingOrder;
            EXECUTE @left = [audit].[usp_FindPoison] @conversationId, @handle, @rows;
            DELETE FROM @rows;
            IF @left = 1
                BREAK;
            IF @left = 2
                SELECT @suspect = NULL, @careful = 1;
            IF @phase = 0
                SELECT @few = 1, @until = DATEADD(minute, 10, SYSUTCDATETIME());
        END CATCH;
    END;

    IF @turn >= 0
        EXECUTE [audit].[usp_TakeTurn] @take = 0;
    RETURN 0;
END;
GO
CREATE OR ALTER VIEW [audit].[vw_DeadLetters]
AS
/* Redial 0.1.0, configuration audit */
/* Dead letters without their bodies: who may list them need not be allowed to read what was sent.
   HandledUtc NULL: nobody has replayed it yet. Key, number and id are out of the header in front of the body. NOLOCK: never waits for a reader that is adding one. */
SELECT
    dl.DeadLetterId, dl.AddedUtc, dl.Side, dl.ConversationId, dl.ConversationHandle, dl.MessageSequence,
    dl.MessageType, dl.Code, dl.Reason, dl.HandledUtc, dl.HandledBy, dl.Handling, dl.HandlingReason,
    DATALENGTH(dl.Body) AS BodyBytes,
    e.ConversationKey, e.KeySequence, e.MessageId
FROM [audit].[DeadLetter] AS dl WITH (NOLOCK)
CROSS APPLY [audit].[ufn_ReadEnvelope](SUBSTRING(dl.Body, 1, 1300)) AS e;
GO
CREATE OR ALTER VIEW [audit].[vw_Unlanded]
AS
/* Redial 0.1.0, configuration audit */
/* Messages that were sent and have not landed, without their bodies.
   Status: pending (it is on its way, or waits to be sent again), dead letter (until it is replayed).
   NOLOCK: whoever watches must neither wait for senders nor make them wait. */
SELECT
    N'pending' AS Status, sm.SentUtc AS SinceUtc, sm.ConversationId, sm.MessageSequence, sm.MessageType,
    e.ConversationKey, e.KeySequence, e.MessageId,
    CONVERT(bigint, NULL) AS DeadLetterId
FROM [audit].[SentMessage] AS sm WITH (NOLOCK)
CROSS APPLY [audit].[ufn_ReadEnvelope](SUBSTRING(sm.Body, 1, 1300)) AS e     -- noqa: AL05
UNION ALL
SELECT
    N'dead letter' AS Status, dl.AddedUtc AS SinceUtc, dl.ConversationId, dl.MessageSequence, dl.MessageType,
    dl.ConversationKey, dl.KeySequence, dl.MessageId, dl.DeadLetterId
FROM [audit].[vw_DeadLetters] AS dl
WHERE dl.HandledUtc IS NULL;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'65897640aba40bc1 1', @level0type = N'SCHEMA', @level0name = N'audit';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
