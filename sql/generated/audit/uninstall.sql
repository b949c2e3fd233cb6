SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Uninstall, keeping the data: no new sends, every dialog recycled and ended by its target, then the
   objects. Tables, roles and the schema stay (purge_data.sql removes them). Run again after a stop:
   each step looks at what is left. It waits up to 60 seconds for dialogs and transactions, and drops nothing
   before they have ended; longer: EXECUTE sys.sp_set_session_context N'redial.wait_seconds', 600; first.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   services with messages in them. XACT_ABORT ends a batch at its first error. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
SET ROWCOUNT 0;                         /* SSMS can be told another: lists below would be cut (F-331) */

DECLARE @lacks nvarchar(200) = NULL;
DECLARE @refusal nvarchar(2048);
IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL'), 0) = 0
    SET @lacks = N'CONTROL on the database';
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE LEFT(ct.name, LEN(N'redial_audit_signing_')) = N'redial_audit_signing_')
    SET @lacks = N'membership in db_owner (only members change that role, and a member is to be taken out)';
IF @lacks IS NOT NULL
BEGIN
    SET @refusal = REPLACE(CONCAT(N'User ', QUOTENAME(USER_NAME()), N' of database ', QUOTENAME(DB_NAME()),
        N' cannot remove configuration audit. Missing: ', @lacks,
        N'. Nothing was done. Next: have a member of db_owner run uninstall.sql, or let one run ALTER ROLE [db_owner] ADD MEMBER ',
        QUOTENAME(USER_NAME()), N';'), N'%', N'%%');   /* F-133 */
    THROW 50200, @refusal, 1;
END;

DECLARE @property int;
DECLARE @drops TABLE (Kind nvarchar(30) NOT NULL, Name sysname NOT NULL, PRIMARY KEY (Kind, Name));
DECLARE @dropKind nvarchar(30);
DECLARE @dropName sysname;
DECLARE @dropOurs bit;
DECLARE @dropStatement nvarchar(600);

DECLARE @message nvarchar(2048);
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
DECLARE @statement nvarchar(max);

/* Is this the database it was in? Whatever is left of it has a mark. */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               LEFT OUTER JOIN sys.objects AS o ON ep.class = 1 AND o.object_id = ep.major_id
               WHERE ep.name = @mark
                  OR (ep.name = N'Redial.made' AND ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit'))
                  OR (ep.name = N'Redial.made' AND ep.class = 4 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                      AND CONVERT(nvarchar(128), ep.value) = N'audit')
                  OR (ep.name = N'Redial.made' AND o.schema_id = SCHEMA_ID(N'audit')))
BEGIN
    SET @message = REPLACE(CONCAT(N'Database ', QUOTENAME(DB_NAME()), N' holds nothing that a deployment of configuration audit made in schema ''audit''. Nothing was done. Next: USE the database it is in; where all is gone already there is nothing to do.'), N'%', N'%%');
    THROW 50142, @message, 1;
END;

/* First of all the drain: senders wait or are refused, and nothing is dropped before it is through. A gate
   with the mark 'uninstall' is of an earlier run that has drained and was stopped later; without these
   tables no dialog was ever begun. */
IF OBJECT_ID(N'[audit].[Gate]', N'U') IS NOT NULL
   AND OBJECT_ID(N'[audit].[Setting]', N'U') IS NOT NULL
   AND OBJECT_ID(N'[audit].[SessionConversations]', N'U') IS NOT NULL
   AND OBJECT_ID(N'[audit].[ConversationLog]', N'U') IS NOT NULL
BEGIN
    IF NOT EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = N'uninstall')
    BEGIN
        DECLARE @waitSeconds int = ISNULL(TRY_CONVERT(int, SESSION_CONTEXT(N'redial.wait_seconds')), 60);   /* 0 to 3600 */
        DECLARE @left int = 0;
        DECLARE @said nvarchar(2000) = N'';
        IF OBJECT_ID(N'[audit].[usp_Drain]', N'P') IS NOT NULL
            EXECUTE @left = [audit].[usp_Drain] @reason = N'uninstall', @waitSeconds = @waitSeconds, @WhatIf = 0,
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
            SET IsOpen = 0, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'uninstall'
            FROM [audit].[Gate] AS g
            WHERE g.ConfigId = 1 AND g.IsOpen = 1;
            IF @@ROWCOUNT = 1
               AND NOT EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate')
                INSERT INTO [audit].[Setting] (Name, Value) VALUES (N'deployment.gate', N'closed');
            COMMIT TRANSACTION;
        END;
        IF @left = 1
        BEGIN
            SET @message = CONCAT(N'Not drained within ', @waitSeconds, N' seconds. ', @said,
                N'Nothing was dropped, and the gate is as it was before. Next: ', N'let those transactions end (or wait longer: EXECUTE sys.sp_set_session_context N''redial.wait_seconds'', 600; before this script, up to 3600); look at [audit].[usp_Health], which names what else is in the way and what to call; at [audit].[vw_Unlanded] for messages that have not landed, which EXECUTE [audit].[usp_Resend] sends again', N'; then run uninstall again.');
            SET @message = REPLACE(@message, N'%', N'%%');
            THROW 50140, @message, 1;
        END;
        IF @left = 2
            THROW 50140, N'What drains configuration audit is not installed, and conversations of schema ''audit'' are open. Nothing was dropped. Next: deploy to the end, then run uninstall.sql.', 1;
    END;
    /* From here on the gate stays closed; the mark tells the next deployment that it is its own to open. */
    UPDATE [audit].[Setting] SET Value = N'uninstall' WHERE Name = N'deployment.gate';
END;

/* Agent jobs and alerts this configuration made. 14262: somebody has deleted it by hand. The table is asked for in
   an IF of its own: a statement over a missing table fails whatever its condition (F-195). */
IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NOT NULL
BEGIN
    DECLARE @job nvarchar(128);
    DECLARE @kind nvarchar(60);
    DECLARE @lastJob nvarchar(128) = N'';
    WHILE 1 = 1
    BEGIN
        SET @job = NULL;
        SELECT TOP (1) @job = o.Name, @kind = o.Kind
        FROM [audit].[OwnedObject] AS o
        WHERE o.Kind IN (N'AGENT JOB', N'AGENT ALERT')
          AND o.Name > @lastJob
        ORDER BY o.Name;
        IF @job IS NULL
            BREAK;
        SET @lastJob = @job;

        BEGIN TRY
            /* As it was named, cut to 128 characters where the database's name is long. */
            IF @job <> LEFT(CONCAT(LEFT(@job, CHARINDEX(N', ', @job) + 1), DB_NAME()), 128)
                PRINT CONCAT(@kind, N' "', @job, N'" is of another database, this one was copied or renamed: not touched.');
            ELSE IF @kind = N'AGENT JOB'
                EXECUTE msdb.dbo.sp_delete_job @job_name = @job;
            ELSE
                EXECUTE msdb.dbo.sp_delete_alert @name = @job;
            DELETE FROM [audit].[OwnedObject] WHERE Kind = @kind AND Name = @job;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
                DELETE FROM [audit].[OwnedObject] WHERE Kind = @kind AND Name = @job;
            ELSE
                THROW;
        END CATCH;
    END;

END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[InitiatorQueue]'))
   AND EXISTS (SELECT 1 FROM sys.service_queues AS q
               WHERE q.object_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ') AND q.activation_procedure IS NOT NULL)
BEGIN
    ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION (DROP);
END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[TargetQueue]'))
   AND EXISTS (SELECT 1 FROM sys.service_queues AS q
               WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ') AND q.activation_procedure IS NOT NULL)
BEGIN
    ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION (DROP);
END;

IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NOT NULL
BEGIN
    IF EXISTS (SELECT 1 FROM [audit].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/audit/initiator')
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/audit/initiator')
        BEGIN
            DROP BROKER PRIORITY [redial/audit/initiator];    /* a service a priority names cannot be dropped */
        END;
        DELETE FROM [audit].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/audit/initiator';
    END;
END;

IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NOT NULL
BEGIN
    IF EXISTS (SELECT 1 FROM [audit].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/audit/target')
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/audit/target')
        BEGIN
            DROP BROKER PRIORITY [redial/audit/target];    /* a service a priority names cannot be dropped */
        END;
        DELETE FROM [audit].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/audit/target';
    END;
END;

/* What is told of queues that go off. */
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ') AND n.name = N'redial_audit_trouble')
    DROP EVENT NOTIFICATION [redial_audit_trouble] ON QUEUE [audit].[InitiatorQueue];
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ') AND n.name = N'redial_audit_trouble')
    DROP EVENT NOTIFICATION [redial_audit_trouble] ON QUEUE [audit].[TargetQueue];

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/audit/trouble')
                 AND ep.name = N'Redial.made')
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/audit/trouble')
                     AND ep.name = N'Redial.made')
    BEGIN
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
            @level0type = N'SERVICE', @level0name = N'redial/audit/trouble';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    DROP SERVICE [redial/audit/trouble];
    COMMIT TRANSACTION;
END;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[TroubleQueue]'))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
        @level0name = N'audit', @level1type = N'QUEUE', @level1name = N'TroubleQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    DROP QUEUE [audit].[TroubleQueue];
    COMMIT TRANSACTION;
END;

/* Database-wide objects: this configuration's mark goes; what Redial made goes with the last mark, if
   nobody else uses it. A contract still in use keeps its conversations: DROP would end them. */
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
SELECT N'SERVICE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.services AS x ON x.service_id = ep.major_id
WHERE ep.class = 17
  AND ep.name = @mark;
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'CONTRACT', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_contracts AS x ON x.service_contract_id = ep.major_id
WHERE ep.class = 16
  AND ep.name = @mark;
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'MESSAGE TYPE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_message_types AS x ON x.message_type_id = ep.major_id
WHERE ep.class = 15
  AND ep.name = @mark;

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
                    AND ep.name LIKE N'Redial.user.%' AND ep.name <> @mark)
        + CASE @releaseClass
            WHEN 16 THEN (SELECT COUNT(*) FROM sys.service_contract_usages AS u WHERE u.service_contract_id = @releaseId)
                + (SELECT COUNT(*) FROM sys.conversation_priorities AS cp WHERE cp.service_contract_id = @releaseId)
                + (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = @releaseId)
            WHEN 15 THEN (SELECT COUNT(*) FROM sys.service_contract_message_usages AS u WHERE u.message_type_id = @releaseId)
            WHEN 17 THEN (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_id = @releaseId AND ce.state <> 'CD')
            ELSE 0 END;

    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = @mark, @level0type = @releaseKind, @level0name = @releaseName;
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF @users = 0
       AND EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = @releaseClass AND ep.major_id = @releaseId AND ep.name = N'Redial.made')
    BEGIN
        /* First the mark: that DROP takes an object's properties along is nowhere promised (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = @releaseKind, @level0name = @releaseName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        SET @releaseStatement = CONCAT(N'DROP ', @releaseKind, N' ', QUOTENAME(@releaseName), N';');
        EXECUTE sys.sp_executesql @releaseStatement;
    END
    ELSE IF @releaseClass <> 17
    BEGIN
        SET @releaseStatement = CONCAT(N'REVOKE REFERENCES ON ', @releaseKind, N'::', QUOTENAME(@releaseName), N' FROM ', N'[audit_module]', N';');
        EXECUTE sys.sp_executesql @releaseStatement;
    END;
    COMMIT TRANSACTION;
END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[InitiatorQueue]'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS s
                   WHERE s.service_queue_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ'))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
        @level0name = N'audit', @level1type = N'QUEUE', @level1name = N'InitiatorQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    ALTER QUEUE [audit].[InitiatorQueue] WITH STATUS = OFF;     /* who waits there is told 9617, and leaves: no reader logs that */
    DROP QUEUE [audit].[InitiatorQueue];
    COMMIT TRANSACTION;
END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[TargetQueue]'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS s
                   WHERE s.service_queue_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ'))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
        @level0name = N'audit', @level1type = N'QUEUE', @level1name = N'TargetQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    ALTER QUEUE [audit].[TargetQueue] WITH STATUS = OFF;     /* who waits there is told 9617, and leaves: no reader logs that */
    DROP QUEUE [audit].[TargetQueue];
    COMMIT TRANSACTION;
END;

/* The hook is its author's. Only the stub goes, as long as nobody changed a letter of it. */
IF OBJECT_DEFINITION(OBJECT_ID(N'[audit].[usp_ProcessMessage]', N'P')) COLLATE Latin1_General_BIN2
   = N'CREATE PROCEDURE [audit].[usp_ProcessMessage]
    @conversationId uniqueidentifier,   /* the same on both sides */
    @handle uniqueidentifier,           /* the target''s: for your log, END and SEND nothing on it */
    @sequence bigint,                   /* in the conversation, from 0 */
    @messageType nvarchar(256),
    @body varbinary(max),               /* NULL for an empty one */
    @key nvarchar(200),                 /* these and the rest: NULL where the configuration sends none */
    @keySequence bigint,
    @messageId uniqueidentifier,
    @sentUtc datetime2(3),
    @senderLogin nvarchar(128),         /* who sent: [envelope] who = true */
    @senderApp nvarchar(128),
    @senderHost nvarchar(128)
AS
/* Put your own processing here (ALTER PROCEDURE); no deployment replaces it. The rules are in
   docs/hook.md. Until then a message lands. */
BEGIN
    SET NOCOUNT ON;

    INSERT INTO [audit].[Landing]
        (ConversationId, ConversationHandle, MessageSequence, MessageType, Body, ConversationKey, KeySequence, MessageId,
         SentUtc, SenderLogin, SenderApp, SenderHost)
    VALUES
        (@conversationId, @handle, @sequence, @messageType, @body, @key, @keySequence, @messageId,
         @sentUtc, @senderLogin, @senderApp, @senderHost);
END;
'
BEGIN
    DROP PROCEDURE [audit].[usp_ProcessMessage];
END;

/* Every object of every choice: an earlier one may have left something behind. Types after the
   procedures that name them (F-160). */
INSERT INTO @drops (Kind, Name)
VALUES
    (N'VIEW', N'Outbox'), (N'VIEW', N'vw_Conversations'), (N'VIEW', N'vw_DeadLetterCauses'),
    (N'VIEW', N'vw_DeadLetters'), (N'VIEW', N'vw_Errors'), (N'VIEW', N'vw_FailedConversations'),
    (N'VIEW', N'vw_Findings'), (N'VIEW', N'vw_Pending'), (N'VIEW', N'vw_Queues'), (N'VIEW', N'vw_Unlanded'),
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
    (N'PROCEDURE', N'usp_WaitForServer'), (N'PROCEDURE', N'usp_WaitForSlot'), (N'FUNCTION', N'ufn_Conversations'),
    (N'FUNCTION', N'ufn_DeadLetters'), (N'FUNCTION', N'ufn_DialogOf'), (N'FUNCTION', N'ufn_DialogTrail'),
    (N'FUNCTION', N'ufn_HealthBroker'), (N'FUNCTION', N'ufn_HealthConversations'), (N'FUNCTION', N'ufn_HealthData'),
    (N'FUNCTION', N'ufn_HealthPending'), (N'FUNCTION', N'ufn_HealthQueues'), (N'FUNCTION', N'ufn_Leaked'),
    (N'FUNCTION', N'ufn_Pending'), (N'FUNCTION', N'ufn_QueuePages'), (N'FUNCTION', N'ufn_Queues'),
    (N'FUNCTION', N'ufn_ReadBatch'), (N'FUNCTION', N'ufn_ReadEnvelope'), (N'FUNCTION', N'ufn_SentAgain'),
    (N'FUNCTION', N'ufn_Sides'), (N'FUNCTION', N'ufn_Trail'), (N'TYPE', N'MessageBatch'), (N'TYPE', N'ReceivedBatch');
WHILE EXISTS (SELECT 1 FROM @drops)
BEGIN
    SELECT TOP (1) @dropKind = d.Kind, @dropName = d.Name, @dropOurs = NULL
    FROM @drops AS d
    ORDER BY CASE d.Kind WHEN N'TYPE' THEN 1 ELSE 0 END, d.Name;
    DELETE FROM @drops WHERE Kind = @dropKind AND Name = @dropName;

    SELECT @dropOurs = CASE WHEN CASE o.type WHEN 'U' THEN N'TABLE' WHEN 'SQ' THEN N'QUEUE' WHEN 'P' THEN N'PROCEDURE' WHEN 'V' THEN N'VIEW'
              WHEN 'TR' THEN N'TRIGGER' WHEN 'IF' THEN N'FUNCTION' WHEN 'TF' THEN N'FUNCTION' WHEN 'FN' THEN N'FUNCTION' END = @dropKind
                             AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %')) THEN 1 ELSE 0 END
    FROM sys.objects AS o
    WHERE @dropKind <> N'TYPE' AND o.schema_id = SCHEMA_ID(N'audit') AND o.name = @dropName;
    SELECT @dropOurs = CASE WHEN EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made') THEN 1 ELSE 0 END
    FROM sys.types AS t
    WHERE @dropKind = N'TYPE' AND t.schema_id = SCHEMA_ID(N'audit') AND t.name = @dropName;
    IF @dropOurs IS NULL
        CONTINUE;       /* nothing of this name is there */
    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N'[audit].', QUOTENAME(@dropName), N' was not made by Redial: kept.');
        CONTINUE;
    END;

    BEGIN TRANSACTION;
    IF @dropKind IN (N'TABLE', N'TYPE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'audit', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    SET @dropStatement = CONCAT(N'DROP ', @dropKind, N' ', N'[audit].', QUOTENAME(@dropName), N';');
    EXECUTE sys.sp_executesql @dropStatement;
    COMMIT TRANSACTION;
END;

DECLARE @leftKind nvarchar(30);
DECLARE @leftName sysname;
DECLARE @leftStatement nvarchar(600);
WHILE 1 = 1
BEGIN
    SET @leftName = NULL;
    SELECT TOP (1) @leftKind = UPPER(CASE o.type WHEN 'U' THEN N'TABLE' WHEN 'SQ' THEN N'QUEUE' WHEN 'P' THEN N'PROCEDURE' WHEN 'V' THEN N'VIEW'
              WHEN 'TR' THEN N'TRIGGER' WHEN 'IF' THEN N'FUNCTION' WHEN 'TF' THEN N'FUNCTION' WHEN 'FN' THEN N'FUNCTION' END), @leftName = o.name
    FROM sys.objects AS o
    WHERE o.schema_id = SCHEMA_ID(N'audit')
      AND o.type IN ('V', 'P', 'TF', 'IF', 'FN', 'SQ')
      AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %'))
      AND NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.service_queue_id = o.object_id)
    ORDER BY CHARINDEX(RTRIM(o.type), 'V,P,TF,IF,FN,SQ'), o.name;
    IF @leftName IS NULL
        BREAK;

    SET @leftStatement = CONCAT(N'DROP ', @leftKind, N' ', N'[audit].', QUOTENAME(@leftName), N';');
    BEGIN TRANSACTION;
    IF @leftKind IN (N'TABLE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'audit', @level1type = @leftKind, @level1name = @leftName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    EXECUTE sys.sp_executesql @leftStatement;
    COMMIT TRANSACTION;
END;

/* What gave rights by signature, and what secured dialogs between two databases. */
DECLARE @signer sysname = NULL;
DECLARE @oldSigner sysname;
DECLARE @dropSigner nvarchar(max);
/* Asked anew each time, no cursor: outside a transaction each DROP commits, and CURSOR_CLOSE_ON_COMMIT
   may be on (F-372). */
WHILE 1 = 1
BEGIN
    SET @oldSigner = NULL;
    SELECT TOP (1) @oldSigner = ct.name
    FROM sys.certificates AS ct
    WHERE LEFT(ct.name, LEN(N'redial_audit_signing_')) = N'redial_audit_signing_'
      AND LEN(ct.name) = LEN(N'redial_audit_signing_') + 36   /* a GUID behind it: no other configuration's */
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
IF EXISTS (SELECT 1 FROM sys.remote_service_bindings AS b WHERE b.name = N'redial_audit_target')
    DROP REMOTE SERVICE BINDING [redial_audit_target];
IF EXISTS (SELECT 1 FROM sys.routes AS r WHERE r.name = N'redial_audit_target')
    DROP ROUTE [redial_audit_target];
IF EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.name = N'redial_audit_target')
    DROP CERTIFICATE [redial_audit_target];
IF DATABASE_PRINCIPAL_ID(N'redial_audit_target') IS NOT NULL
    DROP USER [redial_audit_target];
IF EXISTS (SELECT 1 FROM sys.remote_service_bindings AS b WHERE b.name = N'redial_audit_initiator')
    DROP REMOTE SERVICE BINDING [redial_audit_initiator];
IF EXISTS (SELECT 1 FROM sys.routes AS r WHERE r.name = N'redial_audit_initiator')
    DROP ROUTE [redial_audit_initiator];
IF EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.name = N'redial_audit_initiator')
    DROP CERTIFICATE [redial_audit_initiator];
IF DATABASE_PRINCIPAL_ID(N'redial_audit_initiator') IS NOT NULL
    DROP USER [redial_audit_initiator];
/* The master key, if Redial made it and nothing is left under it: keys, credentials, dialogs. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep WHERE ep.class = 0 AND ep.name = N'Redial.master_key')
   AND NOT EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.pvt_key_encryption_type = 'MK')
   AND NOT EXISTS (SELECT 1 FROM sys.asymmetric_keys AS ak WHERE ak.pvt_key_encryption_type = 'MK')
   AND NOT EXISTS (SELECT 1 FROM sys.symmetric_keys AS sk WHERE sk.name <> N'##MS_DatabaseMasterKey##')
   AND NOT EXISTS (SELECT 1 FROM sys.database_scoped_credentials AS dc)
   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.is_system = 0)
BEGIN
    /* Together: without its mark nobody would drop the key. */
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.master_key';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF EXISTS (SELECT 1 FROM sys.symmetric_keys AS k WHERE k.name = N'##MS_DatabaseMasterKey##')
        DROP MASTER KEY;
    COMMIT TRANSACTION;
END;

/* Rows of SessionConversations are the keys to dialogs that are gone; settings, choices that are. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[SessionConversations]'))
    /* lint: allow SB13: every row, and nobody sends any more */
    DELETE FROM [audit].[SessionConversations];
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[Setting]'))
    DELETE FROM [audit].[Setting] WHERE Name <> N'deployment.gate';
/* So that installing again is recorded as a change. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[DeploymentHistory]'))
BEGIN
    IF ISNULL((SELECT TOP (1) h.Version FROM [audit].[DeploymentHistory] AS h
               ORDER BY h.DeploymentId DESC), N'') <> N'uninstalled'
        INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
        VALUES (N'audit', N'uninstalled', REPLICATE('0', 64));
END;
GO
