/* Redial 0.1.0, configuration orders: 9_finish.sql, rights, readers switched on, what earlier choices left; looks whether all is there. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'9_finish.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'875254cfeddf0a5b [7-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'7_upgrade.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 9_finish.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Is all there, as these files make it? A tool that goes on behind an error comes to here too. Blanks and line ends
   apart: tools write their own. redial deploy, which looks at more, leaves this out. */
DECLARE @lacks nvarchar(1600) = N'';
DECLARE @name sysname;
DECLARE @left TABLE (Name sysname NOT NULL PRIMARY KEY);
DECLARE @made TABLE (Name sysname NOT NULL PRIMARY KEY, Digest binary(8) NULL);     /* NULL: a table or type */

INSERT INTO @made (Name, Digest)
VALUES
    (N'usp_Mark', 0x8ab3afe8d11f61b9), (N'DeploymentHistory', NULL), (N'DeploymentText', NULL), (N'Migration', NULL),
    (N'OwnedObject', NULL), (N'Setting', NULL), (N'ConversationLog', NULL), (N'DeadLetter', NULL), (N'ErrorLog', NULL),
    (N'Gate', NULL), (N'KeySequence', NULL), (N'Landing', NULL), (N'OperatorLog', NULL), (N'PoisonAttempt', NULL),
    (N'SentMessage', NULL), (N'SessionConversations', NULL), (N'SkippedNumber', NULL), (N'ReceivedBatch', NULL),
    (N'ufn_ReadEnvelope', 0x624ef2f836a190f3), (N'usp_ArmTimer', 0xcb3efbf1a4b6557a),
    (N'usp_DropCopies', 0x9761e920dfded61b), (N'usp_LogError', 0x70358dde623c83fb),
    (N'usp_ReadErrorBody', 0xc9c33ce7399de1cc), (N'usp_RecordPoison', 0x3be35ed4068d49c8),
    (N'usp_SendEndOfStream', 0x6d35e2cadd49c29b), (N'usp_SendPrivately', 0xe43d1295d3cd7de6),
    (N'usp_WaitForServer', 0xd9b543c6b5c8db85), (N'usp_BeginConversation', 0x8fd2fcba52fb0aed),
    (N'usp_AcquireConversation', 0x3421da7851160b5a), (N'usp_Send', 0xf1e59501ccf657ea),
    (N'usp_RecycleConversation', 0x9917b28fe36a3235), (N'usp_MoveCopies', 0xc76d223dc032ed68),
    (N'usp_ResendPending', 0xcc320b3caafa3269), (N'usp_EndInitiator', 0xe7245db59e095245),
    (N'usp_ResendLeft', 0xb150a63107c5b84e), (N'usp_ResendStranded', 0xcda6a2b7c0eb4c3e),
    (N'usp_SenderActivation', 0x59f6440c1da558ae), (N'usp_CountRefusals', 0xb463116fcb4cdbee),
    (N'usp_LandRow', 0x00db5b04e571aa70), (N'usp_LandBatch', 0x0307a9a30e606c72),
    (N'usp_EndTarget', 0xab1b1a614daa846c), (N'usp_FindPoison', 0x04f09f86709f4c02),
    (N'usp_PickConversation', 0x8ffa73609faea198), (N'usp_TakeTurn', 0x91bc10bb5f228e5d),
    (N'usp_TargetActivation', 0x33a196529678b6e1), (N'vw_DeadLetters', 0x2968d05543d622f0),
    (N'vw_Unlanded', 0x05adc7c472264aec), (N'MessageBatch', NULL), (N'ufn_ReadBatch', 0x9b71e7ac13e269f7),
    (N'usp_CheckMessages', 0xc1ba60b591552091), (N'usp_SendMessages', 0x8a21ba4560c57c5a),
    (N'usp_SendBatch', 0x9220a53197b7989c), (N'Outbox', 0x90b08838742b91dc), (N'Outbox_Insert', 0xc21ab6d1aac12279),
    (N'ufn_Conversations', 0x496e5a7e51c0d9dc), (N'ufn_Leaked', 0x7c37f57a8ace5593),
    (N'ufn_Pending', 0xbff17e42a09f4feb), (N'ufn_QueuePages', 0x04d34890f7aee60e), (N'ufn_Queues', 0x56405f02b9416db3),
    (N'ufn_DialogOf', 0x339f57942bf1f4e5), (N'ufn_DialogTrail', 0xe9ffb75509e9b52c),
    (N'ufn_SentAgain', 0x6627ddaaa3f1d089), (N'ufn_Sides', 0x64c62d702aa072f2), (N'ufn_Trail', 0xa689925d54fae43d),
    (N'vw_Findings', 0x58f31aa1de31986c), (N'usp_CheckHealth', 0xbe135e59389387fa),
    (N'usp_Figures', 0x8b24e960fbe080df), (N'usp_Health', 0x7cd2a1eccc7f795f), (N'usp_Sessions', 0x4a8e883a7f9bcddc),
    (N'usp_Trace', 0xd1dae8b788f15ef1), (N'vw_Conversations', 0x99eed79a8314808d),
    (N'vw_DeadLetterCauses', 0x44ce60a87898b5d0), (N'vw_Errors', 0x1aa7bad8e7437a8e),
    (N'vw_FailedConversations', 0x7b1fbac421186b2e), (N'vw_Pending', 0xef61098547258f71),
    (N'vw_Queues', 0x55dda13f7ac3d5f2), (N'IdleWatch', NULL), (N'ufn_DeadLetters', 0x85d5cbbde3bd1841),
    (N'usp_OpenGate', 0xd1d0faa49b22ee57), (N'usp_CloseDialogs', 0x0bc0d826db9dc37c),
    (N'usp_CloseGate', 0x471ab193b8e726c1), (N'usp_EndLeakedOne', 0x3dcd8b83c328e536),
    (N'usp_InTheWay', 0x697e1898486cb62b), (N'usp_ReopenGate', 0xa9f8e1bd0f9be4b9),
    (N'usp_WaitForEnds', 0x2b7d7b7c8da568fc), (N'usp_Drain', 0x6792ef4921a1ef71),
    (N'usp_EndLeaked', 0x59791aaf5030a71a), (N'usp_MarkDeadLetter', 0xae4f246481e050af),
    (N'usp_ReorganizeQueue', 0x451e0efadd6bd1e0), (N'usp_ReplayDeadLetter', 0xa1c1e365225326ba),
    (N'usp_Resend', 0x8760a65cd5141e5f), (N'usp_RetireIdle', 0xf261834538ccf6a6),
    (N'usp_StartQueue', 0x59985e9ec8ef6169), (N'LandingAcknowledged', NULL),
    (N'usp_AcknowledgeLanding', 0xa0577709b3b8632d), (N'usp_PurgeDeadLetter', 0x67f211a58d36ec03),
    (N'usp_PurgeLanding', 0xa6db1ee8b0a8c966), (N'usp_PurgeLogs', 0x29525650d7e801c4),
    (N'usp_PurgePoison', 0x574b825f86ff9711), (N'DeploymentAttempt', NULL);
INSERT INTO @left (Name)
SELECT d.Name
FROM @made AS d
LEFT OUTER JOIN sys.sql_modules AS m ON m.object_id = OBJECT_ID(CONCAT(N'[orders]', N'.', QUOTENAME(d.Name)))
OUTER APPLY (SELECT CONCAT(N'[orders].', QUOTENAME(d.Name)) AS Own) AS o
WHERE (d.Digest IS NULL AND ISNULL(OBJECT_ID(o.Own), TYPE_ID(o.Own)) IS NULL)
   OR (d.Digest IS NOT NULL
       AND (m.[definition] IS NULL OR m.uses_ansi_nulls = 0 OR m.uses_quoted_identifier = 0
            OR d.Digest <> CONVERT(binary(8), LEFT(HASHBYTES('SHA2_256', REPLACE(REPLACE(REPLACE(REPLACE(
                SUBSTRING(m.[definition], CHARINDEX(o.Own, m.[definition]), 2147483647), NCHAR(13), N''), NCHAR(10), N''), NCHAR(9), N''), N' ', N'')), 8))));
WHILE EXISTS (SELECT 1 FROM @left)
BEGIN
    SELECT TOP (1) @name = l.Name FROM @left AS l ORDER BY l.Name;
    DELETE FROM @left WHERE Name = @name;
    SET @lacks = LEFT(CONCAT(@lacks, @name, N', '), 1600);
END;
IF @lacks <> N''
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'NOT installed: missing, or not as these files make it: ', @lacks,
        N'so a batch before has failed, or a file was left out. Next: look for the first error, mend its cause, and run the files again from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50220, @message, 127;
END;
/* It has passed: what follows asks for this mark. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
           WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files')
    EXECUTE sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'875254cfeddf0a5b 9', @level0type = N'SCHEMA', @level0name = N'orders';
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Level 8 for conversations begun from now on, both sides: each endpoint is matched by itself, when
   it is made, and keeps its level (CREATE BROKER PRIORITY page). RECEIVE takes higher ones first, always.
   What goes to another instance is sent first only if HONOR_BROKER_PRIORITY is on; inside one instance
   that option does nothing. It is not switched on here: ALTER DATABASE ... SET HONOR_BROKER_PRIORITY ON
   needs the database for itself, and is for you to do in a quiet hour. */
IF NOT EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/orders/initiator')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE BROKER PRIORITY [redial/orders/initiator] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/orders/contract],
             LOCAL_SERVICE_NAME = [//redial/orders/initiator],
             REMOTE_SERVICE_NAME = N'//redial/orders/target',
             PRIORITY_LEVEL = 8);
    /* Dropped by hand, it is written down already. */
    IF NOT EXISTS (SELECT 1 FROM [orders].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/orders/initiator')
        INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'BROKER PRIORITY', N'redial/orders/initiator');
    COMMIT TRANSACTION;
END
/* Another level, or another version of the contract: one that is still named here could not be dropped.
   Only one of ours is changed; somebody else's of this name 0_preflight has refused. */
ELSE IF EXISTS (SELECT 1 FROM [orders].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/orders/initiator')
    AND NOT EXISTS (SELECT 1
                    FROM sys.conversation_priorities AS cp
                    INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
                    INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
                    WHERE cp.name = N'redial/orders/initiator'
                      AND cp.priority = 8
                      AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/orders/contract'
                      AND s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/initiator'
                      AND cp.remote_service_name COLLATE Latin1_General_BIN2 = N'//redial/orders/target')
BEGIN
    ALTER BROKER PRIORITY [redial/orders/initiator] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/orders/contract],
             LOCAL_SERVICE_NAME = [//redial/orders/initiator],
             REMOTE_SERVICE_NAME = N'//redial/orders/target',
             PRIORITY_LEVEL = 8);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/orders/target')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE BROKER PRIORITY [redial/orders/target] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/orders/contract],
             LOCAL_SERVICE_NAME = [//redial/orders/target],
             REMOTE_SERVICE_NAME = N'//redial/orders/initiator',
             PRIORITY_LEVEL = 8);
    /* Dropped by hand, it is written down already. */
    IF NOT EXISTS (SELECT 1 FROM [orders].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/orders/target')
        INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'BROKER PRIORITY', N'redial/orders/target');
    COMMIT TRANSACTION;
END
/* Another level, or another version of the contract: one that is still named here could not be dropped.
   Only one of ours is changed; somebody else's of this name 0_preflight has refused. */
ELSE IF EXISTS (SELECT 1 FROM [orders].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/orders/target')
    AND NOT EXISTS (SELECT 1
                    FROM sys.conversation_priorities AS cp
                    INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
                    INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
                    WHERE cp.name = N'redial/orders/target'
                      AND cp.priority = 8
                      AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/orders/contract'
                      AND s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/target'
                      AND cp.remote_service_name COLLATE Latin1_General_BIN2 = N'//redial/orders/initiator')
BEGIN
    ALTER BROKER PRIORITY [redial/orders/target] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/orders/contract],
             LOCAL_SERVICE_NAME = [//redial/orders/target],
             REMOTE_SERVICE_NAME = N'//redial/orders/initiator',
             PRIORITY_LEVEL = 8);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Who may do what. A DENY on what is granted here was decided by somebody, and GRANT would take it away (F-505):
   it is given back in the same transaction, so nobody is let in meanwhile. */
SET XACT_ABORT ON;
DECLARE @deny nvarchar(1200);
DECLARE @denied TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Statement nvarchar(1200) NOT NULL);
INSERT INTO @denied (Statement)
SELECT CONCAT(N'DENY ', p.permission_name COLLATE DATABASE_DEFAULT, N' ON ',
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[orders].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'orders_sender', N'orders_operator', N'orders_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'orders')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'orders'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Send] TO [orders_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[orders].[usp_ResendPending] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ResendStranded] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[ConversationLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[DeadLetter] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[DeploymentHistory] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[ErrorLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Gate] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Migration] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[OperatorLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[PoisonAttempt] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Setting] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_DeadLetters] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Unlanded] TO [orders_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[orders].[ConversationLog] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[Landing] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[vw_Unlanded] TO [orders_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[orders].[usp_SendBatch] TO [orders_sender];
GRANT EXECUTE ON TYPE::[orders].[MessageBatch] TO [orders_sender];
GRANT SELECT, INSERT ON OBJECT::[orders].[Outbox] TO [orders_sender];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Health] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_CheckHealth] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Trace] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Figures] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Sessions] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Conversations] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Queues] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Pending] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Errors] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_FailedConversations] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_DeadLetterCauses] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Findings] TO [orders_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Drain] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_OpenGate] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_EndLeaked] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_RetireIdle] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ReplayDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_MarkDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Resend] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_StartQueue] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ReorganizeQueue] TO [orders_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[orders].[usp_AcknowledgeLanding] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[LandingAcknowledged] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[LandingAcknowledged] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_AcknowledgeLanding] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeLogs] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeLanding] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgePoison] TO [orders_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[orders].[DeploymentAttempt] TO [orders_operator];

WHILE EXISTS (SELECT 1 FROM @denied)
BEGIN
    SELECT TOP (1) @deny = d.Statement FROM @denied AS d ORDER BY d.Ordinal;
    DELETE FROM @denied WHERE Statement = @deny;
    EXECUTE sys.sp_executesql @deny;
    PRINT CONCAT(N'Left as it was: ', @deny);
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[orders].[ConversationLog]'), (N'[orders].[DeadLetter]'), (N'[orders].[DeploymentHistory]'),
               (N'[orders].[DeploymentText]'), (N'[orders].[ErrorLog]'), (N'[orders].[Gate]'),
               (N'[orders].[KeySequence]'), (N'[orders].[Landing]'), (N'[orders].[Migration]'),
               (N'[orders].[OperatorLog]'), (N'[orders].[OwnedObject]'), (N'[orders].[PoisonAttempt]'),
               (N'[orders].[ReceivedBatch]'), (N'[orders].[SentMessage]'), (N'[orders].[SessionConversations]'),
               (N'[orders].[Setting]'), (N'[orders].[SkippedNumber]'), (N'[orders].[ufn_ReadEnvelope]'),
               (N'[orders].[usp_AcquireConversation]'), (N'[orders].[usp_ArmTimer]'),
               (N'[orders].[usp_BeginConversation]'), (N'[orders].[usp_CountRefusals]'), (N'[orders].[usp_DropCopies]'),
               (N'[orders].[usp_EndInitiator]'), (N'[orders].[usp_EndTarget]'), (N'[orders].[usp_FindPoison]'),
               (N'[orders].[usp_LandBatch]'), (N'[orders].[usp_LandRow]'), (N'[orders].[usp_LogError]'),
               (N'[orders].[usp_Mark]'), (N'[orders].[usp_MoveCopies]'), (N'[orders].[usp_PickConversation]'),
               (N'[orders].[usp_ReadErrorBody]'), (N'[orders].[usp_RecordPoison]'),
               (N'[orders].[usp_RecycleConversation]'), (N'[orders].[usp_ResendLeft]'),
               (N'[orders].[usp_ResendPending]'), (N'[orders].[usp_ResendStranded]'), (N'[orders].[usp_Send]'),
               (N'[orders].[usp_SendEndOfStream]'), (N'[orders].[usp_SenderActivation]'),
               (N'[orders].[usp_SendPrivately]'), (N'[orders].[usp_TakeTurn]'), (N'[orders].[usp_TargetActivation]'),
               (N'[orders].[usp_WaitForServer]'), (N'[orders].[vw_DeadLetters]'), (N'[orders].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [orders] was activated: an earlier script failed and something its reader needs is missing. Next: run the files again from 0_preflight.sql on.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [orders].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [orders].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[orders].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    ALTER QUEUE [orders].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [orders].[usp_SenderActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'orders_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[orders].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [orders].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [orders].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[orders].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[orders].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    ALTER QUEUE [orders].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [orders].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'orders_module'
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* An index of Landing that these choices do not make. */
IF INDEXPROPERTY(OBJECT_ID(N'[orders].[Landing]', N'U'), N'IX_Landing_Conversation', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Conversation] ON [orders].[Landing];
IF INDEXPROPERTY(OBJECT_ID(N'[orders].[Landing]', N'U'), N'IX_Landing_Key', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Key] ON [orders].[Landing];
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What earlier choices installed and these do not: nothing calls it any more. A table goes when it is
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
    (N'TABLE', N'Everlasting'), (N'TABLE', N'HeldKey'), (N'TABLE', N'Inbox'), (N'TABLE', N'SendLedger'),
    (N'FUNCTION', N'ufn_HealthBroker'), (N'FUNCTION', N'ufn_HealthConversations'), (N'FUNCTION', N'ufn_HealthData'),
    (N'FUNCTION', N'ufn_HealthPending'), (N'FUNCTION', N'ufn_HealthQueues'), (N'PROCEDURE', N'usp_BeginPartition'),
    (N'PROCEDURE', N'usp_CloseEverlasting'), (N'PROCEDURE', N'usp_EndPartition'), (N'PROCEDURE', N'usp_PurgeInbox'),
    (N'PROCEDURE', N'usp_PurgeSendLedger'), (N'PROCEDURE', N'usp_QueueTrouble'),
    (N'PROCEDURE', N'usp_RecycleInOneTransaction'), (N'PROCEDURE', N'usp_RehearseLanding'),
    (N'PROCEDURE', N'usp_SeesPending'), (N'PROCEDURE', N'usp_WaitForSlot');
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
    WHERE @dropKind <> N'TYPE' AND o.schema_id = SCHEMA_ID(N'orders') AND o.name = @dropName;
    SELECT @dropOurs = CASE WHEN EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made') THEN 1 ELSE 0 END
    FROM sys.types AS t
    WHERE @dropKind = N'TYPE' AND t.schema_id = SCHEMA_ID(N'orders') AND t.name = @dropName;
    IF @dropOurs IS NULL
        CONTINUE;       /* nothing of this name is there */
    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N'[orders].', QUOTENAME(@dropName), N' was not made by Redial: kept.');
        CONTINUE;
    END;
    IF @dropKind = N'TABLE'
    BEGIN
        SET @dropStatement = CONCAT(N'IF EXISTS (SELECT 1 FROM ', N'[orders].', QUOTENAME(@dropName), N') SET @ours = 0;');
        EXECUTE sys.sp_executesql @dropStatement, N'@ours bit OUTPUT', @ours = @dropOurs OUTPUT;
        IF @dropOurs = 0
        BEGIN
            PRINT CONCAT(N'Table [orders].', QUOTENAME(@dropName), N' is of an earlier choice and has rows: kept.');
            CONTINUE;
        END;
    END;

    BEGIN TRANSACTION;
    IF @dropKind IN (N'TABLE', N'TYPE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'orders', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    SET @dropStatement = CONCAT(N'DROP ', @dropKind, N' ', N'[orders].', QUOTENAME(@dropName), N';');
    EXECUTE sys.sp_executesql @dropStatement;
    COMMIT TRANSACTION;
END;

/* Versions of the contract that are no longer listed. The target service lets go of one when no
   conversation is on it: what ALTER SERVICE .. DROP CONTRACT does to those is told in two ways (F-193). */
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders'));
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
  AND s.name COLLATE Latin1_General_BIN2 = N'//redial/orders/target'
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/contract')
  AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = sc.service_contract_id);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @statement = CONCAT(N'ALTER SERVICE ', N'[//redial/orders/target]', N' (DROP CONTRACT ', QUOTENAME(@name), N');');
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
SELECT N'SERVICE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.services AS x ON x.service_id = ep.major_id
WHERE ep.class = 17
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/initiator', N'//redial/orders/target');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'CONTRACT', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_contracts AS x ON x.service_contract_id = ep.major_id
WHERE ep.class = 16
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/contract');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'MESSAGE TYPE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_message_types AS x ON x.message_type_id = ep.major_id
WHERE ep.class = 15
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/event', N'EndOfStream');

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

    IF @users > 0
    BEGIN
        PRINT CONCAT(@releaseKind, N' ', QUOTENAME(@releaseName), N' is no longer configured but still in use: kept, the next deployment asks again.');
        CONTINUE;
    END;

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
        SET @releaseStatement = CONCAT(N'REVOKE REFERENCES ON ', @releaseKind, N'::', QUOTENAME(@releaseName), N' FROM ', N'[orders_module]', N';');
        EXECUTE sys.sp_executesql @releaseStatement;
    END;
    COMMIT TRANSACTION;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Queues of an earlier choice, or of a deployment of a later version that stopped half-way, once no service is
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
WHERE q.schema_id = SCHEMA_ID(N'orders')
  AND q.name NOT IN (N'InitiatorQueue', N'TargetQueue', N'TroubleQueue')
  AND NOT EXISTS (SELECT 1
                  FROM sys.internal_tables AS it
                  INNER JOIN sys.partitions AS p ON p.object_id = it.object_id
                  WHERE it.parent_object_id = q.object_id AND p.rows > 0);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @queue = CONCAT(N'[orders].', QUOTENAME(@name));
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.major_id = OBJECT_ID(@queue, N'SQ') AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.service_queue_id = OBJECT_ID(@queue, N'SQ'))
    BEGIN
        /* Asked first: a deployment that stopped before 87_activation left a queue without any, and what
           DROP says to that is not on the alter-queue page (F-360). */
        IF EXISTS (SELECT 1 FROM sys.service_queues AS q
                   WHERE q.object_id = OBJECT_ID(@queue, N'SQ') AND q.activation_procedure IS NOT NULL)
        BEGIN
            SET @statement = CONCAT(N'ALTER QUEUE ', @queue, N' WITH ACTIVATION (DROP);');
            EXECUTE sys.sp_executesql @statement;
        END;

        /* Its readers find it empty and leave. Who may not look at them (VIEW SERVER STATE) does not
           wait: a reader then finds the queue gone and says so in ErrorLog, once. */
        SET @tries = 0;
        BEGIN TRY
            WHILE @tries < 60
                  AND EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t
                              WHERE t.database_id = DB_ID() AND t.queue_id = OBJECT_ID(@queue, N'SQ'))
            BEGIN
                SET @tries = @tries + 1;
                WAITFOR DELAY '00:00:00.500';
            END;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            PRINT ERROR_MESSAGE();
        END CATCH;

        SET @statement = CONCAT(N'DROP QUEUE ', @queue, N';');
        BEGIN TRANSACTION;
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'orders', @level1type = N'QUEUE', @level1name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        EXECUTE sys.sp_executesql @statement;
        COMMIT TRANSACTION;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Agent jobs and alerts of an earlier choice: what they call is gone, or nobody wants it any more. */
DECLARE @kept TABLE (Name nvarchar(128) NOT NULL);
INSERT INTO @kept (Name)
VALUES
    (LEFT(CONCAT(N'Redial orders: retire, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial orders: health, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial orders: purge poison, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial orders: purge logs, ', DB_NAME()), 128));
DECLARE @job nvarchar(128);
DECLARE @kind nvarchar(60);
DECLARE @lastJob nvarchar(128) = N'';
WHILE 1 = 1
BEGIN
    SET @job = NULL;
    SELECT TOP (1) @job = o.Name, @kind = o.Kind
    FROM [orders].[OwnedObject] AS o
    WHERE o.Kind IN (N'AGENT JOB', N'AGENT ALERT')
      AND o.Name > @lastJob
      AND NOT EXISTS (SELECT 1 FROM @kept AS k WHERE k.Name = o.Name)
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
        DELETE FROM [orders].[OwnedObject] WHERE Kind = @kind AND Name = @job;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
            DELETE FROM [orders].[OwnedObject] WHERE Kind = @kind AND Name = @job;
        ELSE
            PRINT CONCAT(@kind, N' "', @job, N'" is of an earlier choice and was not deleted: ', ERROR_MESSAGE());
    END CATCH;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [orders].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'875254cfeddf0a5b6cc942692522af1dc74de70705dafe189f10fb0264b1629c'
BEGIN
    INSERT INTO [orders].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'orders', N'0.1.0', N'875254cfeddf0a5b6cc942692522af1dc74de70705dafe189f10fb0264b1629c');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* SQL Server Agent jobs, where there is an Agent and we may make jobs; else what to schedule instead.
   Every command is safe at any time and as often as you like. A job's name carries the database, and
   is in OwnedObject for uninstall. Deploying again sets commands and schedule; owner, and enabled or not,
   stay as you left them. Engine edition 4 is Express, which has the procedures in msdb and no Agent (F-174).
   - Owner: a member of sysadmin makes jobs for sa (SID 0x01, whatever its name) that run as the module
     user, so nothing runs as whoever happened to deploy, nor stops when that login goes. Anybody else can
     only make jobs of his own, which run as himself (page sp_add_jobstep, @database_user_name).
   - One step, in master: on a secondary replica the database itself may let nobody in. */
DECLARE @jobs TABLE (Task nvarchar(60) NOT NULL PRIMARY KEY, Command nvarchar(400) NOT NULL, Minutes int NOT NULL);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @mayAll bit = ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0);
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
    (N'retire', N'EXECUTE [orders].[usp_RetireIdle] @WhatIf = 0;', 15),
    (N'health', N'EXECUTE [orders].[usp_CheckHealth];', 15),
    (N'purge poison', N'EXECUTE [orders].[usp_PurgePoison] @WhatIf = 0;', 0),
    (N'purge logs', N'EXECUTE [orders].[usp_PurgeLogs] @WhatIf = 0;', 0);
WHILE EXISTS (SELECT 1 FROM @jobs)
BEGIN
    SELECT TOP (1) @task = j.Task, @command = j.Command, @minutes = j.Minutes FROM @jobs AS j ORDER BY j.Task;
    DELETE FROM @jobs WHERE Task = @task;
    SELECT @job = LEFT(CONCAT(N'Redial orders: ', @task, N', ', @database), 128),
        @often = CASE @minutes WHEN 0 THEN N'once a day' ELSE CONCAT(N'every ', @minutes, N' minutes') END,
        @step = CONCAT(N'DECLARE @database sysname = N''', REPLACE(@database, N'''', N''''''), N''', @work nvarchar(max) = N''',
            N'IF IS_SRVROLEMEMBER(N''''sysadmin'''') = 1 EXECUTE AS USER = N''''orders_module'''';', N' ', REPLACE(@command, N'''', N''''''), N''';', N'
DECLARE @primary bit = NULL;
DECLARE @run nvarchar(300) = QUOTENAME(@database) + N''.sys.sp_executesql'';
/* Whoever may not ask (VIEW SERVER STATE) goes by what every login sees, and so does Managed Instance. Only
   "secondary" ends here: a job that cannot tell goes on, and fails where it cannot work. */
IF HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER STATE'') = 1 AND CONVERT(int, SERVERPROPERTY(N''EngineEdition'')) <> 8
    EXECUTE sys.sp_executesql N''SET @primary = sys.fn_hadr_is_primary_replica(@database);'',
        N''@database sysname, @primary bit OUTPUT'', @database = @database, @primary = @primary OUTPUT;
ELSE IF CONVERT(nvarchar(128), DATABASEPROPERTYEX(@database, N''Updateability'')) = N''READ_ONLY''
        AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = @database AND d.group_database_id IS NOT NULL)
    SET @primary = 0;
IF @primary = 0
    PRINT N''This is a secondary replica: the job runs on the primary. Nothing to do here.'';
ELSE
    EXECUTE @run @work;
'),
        @subday = CASE @minutes WHEN 0 THEN 1 ELSE 4 END, @start = CASE @minutes WHEN 0 THEN 31000 ELSE 0 END;

    /* Whoever has no right to them sees none of msdb's procedures. */
    SET @note = CASE WHEN CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5) THEN N'No Agent here.'
                     WHEN ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
                          THEN CONCAT(N'No right to make Agent jobs. A sysadmin can run 92_agent_jobs.job.sql in ', QUOTENAME(@database), N', which makes "', @job, N'".') END;
    IF @note IS NOT NULL
    BEGIN
        SET @note = CONCAT(@note, N' Schedule yourself, ', @often, N': sqlcmd -d "', @database, N'" -b -I -Q "', @command, N'"');
        PRINT @note;
        CONTINUE;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration orders')
           AND NOT EXISTS (SELECT 1 FROM [orders].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @owner_login_name = @owner, @description = N'Redial 0.1.0, configuration orders';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
            IF @mayAll = 0
                PRINT CONCAT(N'Job "', @job, N'" belongs to ', @owner, N', who deploys, and runs as that login. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job with another @owner_login_name, if it should outlive the login.');
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_delete_jobstep @job_name = @job, @step_id = 0;      /* 0: all, of earlier versions too */
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
        END;
        EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = @task, @subsystem = N'TSQL',
            @database_name = N'master', @command = @step, @on_success_action = 1, @on_fail_action = 2;

        IF NOT EXISTS (SELECT 1 FROM [orders].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            INSERT INTO [orders].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(), N' Schedule yourself, ', @often, N': ', @command), 2048);
        PRINT @note;
        CONTINUE;
    END CATCH;

    /* The Agent starts no job whose owner is gone, and says so in its history only. */
    IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job AND SUSER_SNAME(j.owner_sid) IS NULL)
        PRINT CONCAT(N'Job "', @job, N'" belongs to a login that is gone, so it cannot run. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job @job_name = N''', REPLACE(@job, N'''', N''''''), N''', @owner_login_name = N''', SUSER_SNAME(0x01), N''';');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* The choices installed from here on, and the gate that 29_change has closed, in one transaction: a
   deployment that stops before it is still the change of choices it was. Changes only what differs. */
SET XACT_ABORT ON;

DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N'config_id', N'1', 1),
    (N'conversation.key', N'application', 1),
    (N'conversation.recycle', N'timer', 1),
    (N'conversation.timer_strategy', N'two_phase', 1),
    (N'conversation.order', N'key', 1),
    (N'conversation.delivery', N'at_least_once', 1),
    (N'conversation.copies', N'until_landed', 1),
    (N'envelope.who', N'0', 1),
    (N'contract.end_of_stream', N'EndOfStream', 1),
    (N'services.initiator', N'//redial/orders/initiator', 1),
    (N'services.target', N'//redial/orders/target', 1),
    (N'queues.initiator', N'InitiatorQueue', 1),
    (N'queues.target', N'TargetQueue', 1),
    (N'target.database', N'', 1),
    (N'pool.size', N'0', 0),
    (N'target.processing', N'land', 0),
    (N'conversation.encryption', N'0', 0),
    (N'conversation.lifetime_seconds', N'2592000', 0),
    (N'contract.name', N'//redial/orders/contract', 0),
    (N'roles.module', N'orders_module', 0);

BEGIN TRANSACTION;
UPDATE st
SET Value = w.Value, ChangedUtc = SYSUTCDATETIME()
FROM [orders].[Setting] AS st
INNER JOIN @wanted AS w ON w.Name = st.Name
WHERE st.Value IS NULL OR st.Value <> w.Value COLLATE Latin1_General_BIN2;   /* as 29_change compares (F-376) */

INSERT INTO [orders].[Setting] (Name, Value)
SELECT w.Name, w.Value
FROM @wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = w.Name);

IF EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate')
BEGIN
    /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
    UPDATE g
    SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment finished'
    FROM [orders].[Gate] AS g
    WHERE g.ConfigId = 1;
    DELETE FROM [orders].[Setting] WHERE Name = N'deployment.gate';
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'875254cfeddf0a5b 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
DECLARE @property int;
EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.files', @level0type = N'SCHEMA', @level0name = N'orders';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
PRINT N'Redial 0.1.0, configuration orders: installed.';
GO
SET NOEXEC OFF;
GO
