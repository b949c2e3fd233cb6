SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Uninstall, keeping the data: no new sends, every dialog recycled and ended by its target, then the
   objects. Tables, roles and the schema stay (purge_data.sql removes them). Run again after a stop:
   each step looks at what is left. */
DROP PROCEDURE IF EXISTS [logging].[usp_Send];
DROP PROCEDURE IF EXISTS [logging].[usp_SendBatch];
DROP VIEW IF EXISTS [logging].[Outbox];
DROP PROCEDURE IF EXISTS [logging].[usp_SendMessages];
GO
/* The rest is ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and
   would drop services with messages in them. XACT_ABORT ends a batch at its first error. */
SET XACT_ABORT ON;

/* Agent jobs this configuration made. 14262: somebody has deleted it by hand. */
DECLARE @job nvarchar(128);
WHILE EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB')
BEGIN
    SELECT TOP (1) @job = o.Name FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' ORDER BY o.Name;
    BEGIN TRY
        EXECUTE msdb.dbo.sp_delete_job @job_name = @job;
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() <> 14262
            THROW;
    END CATCH;
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'AGENT JOB' AND Name = @job;
END;

/* Drain: EndOfStream on every dialog, then wait for both sides to end. CLOSED rows are only the
   target's memory of replays (F-106) and do not count. */
DECLARE @open int = 1;
DECLARE @tries int = 0;
DECLARE @message nvarchar(2048);
WHILE @open > 0 AND @tries < 120
BEGIN
    SET @tries = @tries + 1;
    IF OBJECT_ID(N'[logging].[usp_CloseEverlasting]', N'P') IS NOT NULL
        EXECUTE [logging].[usp_CloseEverlasting];

    SELECT @open = COUNT(*)
    FROM sys.conversation_endpoints AS ce
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name IN (N'//redial/logging/initiator', N'//redial/logging/target')
      AND ce.state <> 'CD';

    IF @open > 0
        WAITFOR DELAY '00:00:00.500';
END;

IF @open > 0
BEGIN
    SET @message = CONCAT(@open, N' conversation endpoints are still open, so nothing but usp_Send was dropped. Look at ',
        N'[logging].[ErrorLog] and at [logging].[usp_EndLeaked], then run uninstall again.');
    THROW 50140, @message, 1;
END;

IF OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ') IS NOT NULL
   AND EXISTS (SELECT 1 FROM sys.service_queues AS q
               WHERE q.object_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ') AND q.activation_procedure IS NOT NULL)
BEGIN
    ALTER QUEUE [logging].[InitiatorQueue] WITH ACTIVATION (DROP);
END;

IF OBJECT_ID(N'[logging].[TargetQueue]', N'SQ') IS NOT NULL
   AND EXISTS (SELECT 1 FROM sys.service_queues AS q
               WHERE q.object_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ') AND q.activation_procedure IS NOT NULL)
BEGIN
    ALTER QUEUE [logging].[TargetQueue] WITH ACTIVATION (DROP);
END;

/* Database-wide objects: only what this configuration made. */
IF EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/initiator')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/initiator')
    BEGIN
        DROP BROKER PRIORITY [redial/logging/initiator];    /* a service a priority names cannot be dropped */
    END;
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/logging/initiator';
END;

IF EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/target')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/target')
    BEGIN
        DROP BROKER PRIORITY [redial/logging/target];    /* a service a priority names cannot be dropped */
    END;
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/logging/target';
END;

IF EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/logging/initiator')
   AND EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'SERVICE' AND o.Name = N'//redial/logging/initiator')
BEGIN
    DROP SERVICE [//redial/logging/initiator];
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'SERVICE' AND Name = N'//redial/logging/initiator';
END;

IF EXISTS (SELECT 1 FROM sys.services AS s WHERE s.name = N'//redial/logging/target')
   AND EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'SERVICE' AND o.Name = N'//redial/logging/target')
BEGIN
    DROP SERVICE [//redial/logging/target];
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'SERVICE' AND Name = N'//redial/logging/target';
END;

IF OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ') IS NOT NULL
BEGIN
    DROP QUEUE [logging].[InitiatorQueue];
END;

IF OBJECT_ID(N'[logging].[TargetQueue]', N'SQ') IS NOT NULL
BEGIN
    DROP QUEUE [logging].[TargetQueue];
END;

IF EXISTS (SELECT 1 FROM sys.service_contracts AS sc WHERE sc.name = N'//redial/logging/contract')
   AND EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o
               WHERE o.Kind = N'CONTRACT' AND o.Name = N'//redial/logging/contract')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_usages AS u
                   INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
                   WHERE sc.name = N'//redial/logging/contract')
BEGIN
    DROP CONTRACT [//redial/logging/contract];
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'CONTRACT' AND Name = N'//redial/logging/contract';
END;

IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'//redial/logging/event')
   AND EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o
               WHERE o.Kind = N'MESSAGE TYPE' AND o.Name = N'//redial/logging/event')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_message_usages AS u
                   INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id
                   WHERE mt.name = N'//redial/logging/event')
BEGIN
    DROP MESSAGE TYPE [//redial/logging/event];
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'MESSAGE TYPE' AND Name = N'//redial/logging/event';
END;

IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.name = N'EndOfStream')
   AND EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o
               WHERE o.Kind = N'MESSAGE TYPE' AND o.Name = N'EndOfStream')
   AND NOT EXISTS (SELECT 1 FROM sys.service_contract_message_usages AS u
                   INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id
                   WHERE mt.name = N'EndOfStream')
BEGIN
    DROP MESSAGE TYPE [EndOfStream];
    DELETE FROM [logging].[OwnedObject] WHERE Kind = N'MESSAGE TYPE' AND Name = N'EndOfStream';
END;

DROP PROCEDURE IF EXISTS [logging].[usp_AcknowledgeLanding];
DROP PROCEDURE IF EXISTS [logging].[usp_AcquireConversation];
DROP PROCEDURE IF EXISTS [logging].[usp_ArmTimer];
DROP PROCEDURE IF EXISTS [logging].[usp_BeginConversation];
DROP PROCEDURE IF EXISTS [logging].[usp_CloseEverlasting];
DROP PROCEDURE IF EXISTS [logging].[usp_CloseGate];
DROP PROCEDURE IF EXISTS [logging].[usp_Drain];
DROP PROCEDURE IF EXISTS [logging].[usp_EndLeaked];
DROP PROCEDURE IF EXISTS [logging].[usp_FindPoison];
DROP PROCEDURE IF EXISTS [logging].[usp_Health];
DROP PROCEDURE IF EXISTS [logging].[usp_LandBatch];
DROP PROCEDURE IF EXISTS [logging].[usp_LandRow];
DROP PROCEDURE IF EXISTS [logging].[usp_LogError];
DROP PROCEDURE IF EXISTS [logging].[usp_OpenGate];
DROP PROCEDURE IF EXISTS [logging].[usp_PurgeDeadLetter];
DROP PROCEDURE IF EXISTS [logging].[usp_PurgeLanding];
DROP PROCEDURE IF EXISTS [logging].[usp_PurgeLogs];
DROP PROCEDURE IF EXISTS [logging].[usp_PurgePoison];
DROP PROCEDURE IF EXISTS [logging].[usp_ReadErrorBody];
DROP PROCEDURE IF EXISTS [logging].[usp_RecordPoison];
DROP PROCEDURE IF EXISTS [logging].[usp_ReplayDeadLetter];
DROP PROCEDURE IF EXISTS [logging].[usp_ResendPending];
DROP PROCEDURE IF EXISTS [logging].[usp_SeesPending];
DROP PROCEDURE IF EXISTS [logging].[usp_SendBatch];
DROP PROCEDURE IF EXISTS [logging].[usp_SendEndOfStream];
DROP PROCEDURE IF EXISTS [logging].[usp_SenderActivation];
DROP PROCEDURE IF EXISTS [logging].[usp_SendMessages];
DROP PROCEDURE IF EXISTS [logging].[usp_TargetActivation];
/* The hook is its author's. Only the stub goes, as long as nobody changed a letter of it. */
IF OBJECT_DEFINITION(OBJECT_ID(N'[logging].[usp_ProcessMessage]', N'P')) COLLATE Latin1_General_BIN2
   = N'CREATE PROCEDURE [logging].[usp_ProcessMessage]
    @conversationId uniqueidentifier,   /* the same on both sides */
    @handle uniqueidentifier,           /* the target''s: for your log, END and SEND nothing on it */
    @sequence bigint,                   /* in the conversation, from 0 */
    @messageType nvarchar(256),
    @body varbinary(max),               /* NULL for an empty one */
    @key nvarchar(200),                 /* these three: NULL where the configuration sends none */
    @keySequence bigint,
    @messageId uniqueidentifier
AS
/* Put your own processing here (ALTER PROCEDURE); no deployment replaces it. The rules are in
   docs/hook.md. Until then a message lands. */
BEGIN
    SET NOCOUNT ON;

    INSERT INTO [logging].[Landing]
        (ConversationId, ConversationHandle, MessageSequence, MessageType, Body, ConversationKey, KeySequence, MessageId)
    VALUES
        (@conversationId, @handle, @sequence, @messageType, @body, @key, @keySequence, @messageId);
END;
'
BEGIN
    DROP PROCEDURE [logging].[usp_ProcessMessage];
END;

DROP VIEW IF EXISTS [logging].[Outbox];
DROP VIEW IF EXISTS [logging].[vw_Conversations];
DROP VIEW IF EXISTS [logging].[vw_DeadLetters];
DROP VIEW IF EXISTS [logging].[vw_Errors];
DROP VIEW IF EXISTS [logging].[vw_Pending];
DROP VIEW IF EXISTS [logging].[vw_Queues];
DROP FUNCTION IF EXISTS [logging].[ufn_Conversations];
DROP FUNCTION IF EXISTS [logging].[ufn_HealthBroker];
DROP FUNCTION IF EXISTS [logging].[ufn_HealthConversations];
DROP FUNCTION IF EXISTS [logging].[ufn_HealthData];
DROP FUNCTION IF EXISTS [logging].[ufn_Leaked];
DROP FUNCTION IF EXISTS [logging].[ufn_Pending];
DROP FUNCTION IF EXISTS [logging].[ufn_Queues];
DROP FUNCTION IF EXISTS [logging].[ufn_ReadBatch];
/* Types after the procedures that name them (F-160). */
DROP TYPE IF EXISTS [logging].[MessageBatch];
DROP TYPE IF EXISTS [logging].[ReceivedBatch];
/* What gave rights by signature, and what secured dialogs between two databases. */
DECLARE @signer sysname = NULL;
DECLARE @oldSigner sysname;
DECLARE @dropSigner nvarchar(max);
DECLARE oldSigners CURSOR LOCAL FORWARD_ONLY STATIC READ_ONLY FOR
    SELECT ct.name
    FROM sys.certificates AS ct
    WHERE LEFT(ct.name, 23) = N'redial_logging_signing_'
      AND LEN(ct.name) = 59   /* a GUID behind it: no other configuration's */
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
IF EXISTS (SELECT 1 FROM sys.remote_service_bindings AS b WHERE b.name = N'redial_logging_target')
    DROP REMOTE SERVICE BINDING [redial_logging_target];
IF EXISTS (SELECT 1 FROM sys.routes AS r WHERE r.name = N'redial_logging_target')
    DROP ROUTE [redial_logging_target];
IF EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.name = N'redial_logging_target')
    DROP CERTIFICATE [redial_logging_target];
IF DATABASE_PRINCIPAL_ID(N'redial_logging_target') IS NOT NULL
    DROP USER [redial_logging_target];
IF EXISTS (SELECT 1 FROM sys.remote_service_bindings AS b WHERE b.name = N'redial_logging_initiator')
    DROP REMOTE SERVICE BINDING [redial_logging_initiator];
IF EXISTS (SELECT 1 FROM sys.routes AS r WHERE r.name = N'redial_logging_initiator')
    DROP ROUTE [redial_logging_initiator];
IF EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.name = N'redial_logging_initiator')
    DROP CERTIFICATE [redial_logging_initiator];
IF DATABASE_PRINCIPAL_ID(N'redial_logging_initiator') IS NOT NULL
    DROP USER [redial_logging_initiator];
/* The master key, if Redial made it and nothing is left under it: keys, credentials, dialogs. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep WHERE ep.class = 0 AND ep.name = N'Redial.master_key')
   AND NOT EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.pvt_key_encryption_type = 'MK')
   AND NOT EXISTS (SELECT 1 FROM sys.asymmetric_keys AS ak WHERE ak.pvt_key_encryption_type = 'MK')
   AND NOT EXISTS (SELECT 1 FROM sys.symmetric_keys AS sk WHERE sk.name <> N'##MS_DatabaseMasterKey##')
   AND NOT EXISTS (SELECT 1 FROM sys.database_scoped_credentials AS dc)
   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.is_system = 0)
BEGIN
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.master_key';
    IF EXISTS (SELECT 1 FROM sys.symmetric_keys AS k WHERE k.name = N'##MS_DatabaseMasterKey##')
        DROP MASTER KEY;
END;

/* So that installing again is recorded as a change. */
INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
VALUES (N'logging', N'uninstalled', REPLICATE('0', 64));
GO
