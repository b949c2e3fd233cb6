/* Redial 0.1.0, configuration logging: 9_finish.sql, rights, readers switched on, what earlier choices left; looks whether all is there. */
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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'e871dd1bc17d303f [7-9]')
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
    (N'usp_Mark', 0xa695487e27038f14), (N'DeploymentHistory', NULL), (N'DeploymentText', NULL), (N'Migration', NULL),
    (N'OwnedObject', NULL), (N'Setting', NULL), (N'ConversationLog', NULL), (N'DeadLetter', NULL), (N'ErrorLog', NULL),
    (N'Everlasting', NULL), (N'Gate', NULL), (N'Landing', NULL), (N'OperatorLog', NULL), (N'PoisonAttempt', NULL),
    (N'SentMessage', NULL), (N'SessionConversations', NULL), (N'ReceivedBatch', NULL),
    (N'usp_ArmTimer', 0xe2c0afec8f2e2898), (N'usp_DropCopies', 0x6992ada86478d14f),
    (N'usp_LogError', 0x64be9dcae240c119), (N'usp_ReadErrorBody', 0x834b8f85c2fe1afe),
    (N'usp_RecordPoison', 0xa49fe00abb7c18d7), (N'usp_SendEndOfStream', 0xf0996fc8e478f584),
    (N'usp_SendPrivately', 0x9d5d2f6945278829), (N'usp_WaitForServer', 0x7f09f28e2f5f897c),
    (N'usp_BeginConversation', 0xfcb3970f16b4c3be), (N'usp_AcquireConversation', 0x420a3ebf153d7f66),
    (N'usp_Send', 0x88370adc8e1fa79c), (N'usp_MoveCopies', 0x350d000bd6637bab),
    (N'usp_ResendPending', 0xf7d94ec5ec14f442), (N'usp_EndInitiator', 0xf56d81494adca2db),
    (N'usp_ResendLeft', 0x2b71749e227d02ab), (N'usp_ResendStranded', 0x9b2e11b3109d86b6),
    (N'usp_SenderActivation', 0xa9e72d180044e571), (N'usp_CloseEverlasting', 0xbf990fcb6732b4d2),
    (N'usp_CountRefusals', 0x346caa3f42744f3a), (N'usp_LandRow', 0xe7c679aa0218f2b4),
    (N'usp_LandBatch', 0x7985616037555a1f), (N'usp_EndTarget', 0xcb923a0bdf60890a),
    (N'usp_FindPoison', 0x4d42b57c9d03bb77), (N'usp_PickConversation', 0x16ef39b74a386a3c),
    (N'usp_TargetActivation', 0xd111a3ccaf66a918), (N'vw_DeadLetters', 0x241ad37032076c31),
    (N'vw_Unlanded', 0xff7310aad5305fc2), (N'MessageBatch', NULL), (N'ufn_ReadBatch', 0x3b85ced4d9b6288e),
    (N'usp_CheckMessages', 0xdbcab444ce762ca4), (N'usp_SendMessages', 0xe84459664abb5139),
    (N'usp_SendBatch', 0xbcbd0c4f897e4b88), (N'Outbox', 0xaf6d8dbefc38e6fa), (N'Outbox_Insert', 0x4b0b2c6993ebbdde),
    (N'ufn_Conversations', 0xa2a63205004c7875), (N'ufn_Leaked', 0x94b8d25c05deeb0f),
    (N'ufn_Pending', 0x0faa9459878b104b), (N'ufn_QueuePages', 0xbec94eaa86ee84bb), (N'ufn_Queues', 0x3073f705f3ca437c),
    (N'ufn_DialogOf', 0xf604f3c2ccc3d998), (N'ufn_DialogTrail', 0x6b9698789b54f11a),
    (N'ufn_SentAgain', 0x49a08070b82354ab), (N'ufn_Sides', 0x26d936718350b880), (N'ufn_Trail', 0x36faef7afc60311e),
    (N'vw_Findings', 0x0fb3da391c021c6f), (N'usp_CheckHealth', 0x262846a792eef757),
    (N'usp_Figures', 0x76c24a556d5e4497), (N'usp_Health', 0x2ac9b3935b4f6ebe), (N'usp_Sessions', 0x6b1893c460a72782),
    (N'usp_Trace', 0xc8201e2a500602c7), (N'vw_Conversations', 0xd0d2040587f03c89),
    (N'vw_DeadLetterCauses', 0x49acf1fed375b182), (N'vw_Errors', 0xe193ddd9588b5c0f),
    (N'vw_FailedConversations', 0x9187d167f4c5b3b0), (N'vw_Pending', 0x42e169fa00427eb6),
    (N'vw_Queues', 0x785587681e77cdd2), (N'ufn_DeadLetters', 0x39d8e2a1cedd35ad), (N'usp_OpenGate', 0x080e5a046e125748),
    (N'usp_CloseDialogs', 0x8ed4b18b38775f16), (N'usp_CloseGate', 0x3f373e5d362d3d88),
    (N'usp_EndLeakedOne', 0xa24e4dc14a2cc467), (N'usp_InTheWay', 0x58f7e5e32945c918),
    (N'usp_ReopenGate', 0x1c46c7304f5b0aa6), (N'usp_WaitForEnds', 0x59c35453c19a6496),
    (N'usp_Drain', 0x688fc5f5a33ae010), (N'usp_EndLeaked', 0x125f49504e314379),
    (N'usp_MarkDeadLetter', 0xb82943152718cc73), (N'usp_ReorganizeQueue', 0xd809152794f1bb7f),
    (N'usp_ReplayDeadLetter', 0x899f33947d56ca59), (N'usp_Resend', 0x076875023fe5ac53),
    (N'usp_StartQueue', 0xdf21ae52b8af3411), (N'LandingAcknowledged', NULL),
    (N'usp_AcknowledgeLanding', 0xa5da7904104ecc1e), (N'usp_PurgeDeadLetter', 0x2d8fa3a868446471),
    (N'usp_PurgeLanding', 0xfe02eaf119caf38c), (N'usp_PurgeLogs', 0xda340e38217cc503),
    (N'usp_PurgePoison', 0xbaeb44db547cf13f), (N'DeploymentAttempt', NULL);
INSERT INTO @left (Name)
SELECT d.Name
FROM @made AS d
LEFT OUTER JOIN sys.sql_modules AS m ON m.object_id = OBJECT_ID(CONCAT(N'[logging]', N'.', QUOTENAME(d.Name)))
OUTER APPLY (SELECT CONCAT(N'[logging].', QUOTENAME(d.Name)) AS Own) AS o
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
           WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files')
    EXECUTE sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'e871dd1bc17d303f 9', @level0type = N'SCHEMA', @level0name = N'logging';
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Level 3 for conversations begun from now on, both sides: each endpoint is matched by itself, when
   it is made, and keeps its level (CREATE BROKER PRIORITY page). RECEIVE takes higher ones first, always.
   What goes to another instance is sent first only if HONOR_BROKER_PRIORITY is on; inside one instance
   that option does nothing. It is not switched on here: ALTER DATABASE ... SET HONOR_BROKER_PRIORITY ON
   needs the database for itself, and is for you to do in a quiet hour. */
IF NOT EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/initiator')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE BROKER PRIORITY [redial/logging/initiator] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/initiator],
             REMOTE_SERVICE_NAME = N'//redial/logging/target',
             PRIORITY_LEVEL = 3);
    /* Dropped by hand, it is written down already. */
    IF NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/initiator')
        INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'BROKER PRIORITY', N'redial/logging/initiator');
    COMMIT TRANSACTION;
END
/* Another level, or another version of the contract: one that is still named here could not be dropped.
   Only one of ours is changed; somebody else's of this name 0_preflight has refused. */
ELSE IF EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/initiator')
    AND NOT EXISTS (SELECT 1
                    FROM sys.conversation_priorities AS cp
                    INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
                    INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
                    WHERE cp.name = N'redial/logging/initiator'
                      AND cp.priority = 3
                      AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract'
                      AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator'
                      AND cp.remote_service_name COLLATE Latin1_General_BIN2 = N'//redial/logging/target')
BEGIN
    ALTER BROKER PRIORITY [redial/logging/initiator] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/initiator],
             REMOTE_SERVICE_NAME = N'//redial/logging/target',
             PRIORITY_LEVEL = 3);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/target')
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE BROKER PRIORITY [redial/logging/target] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/target],
             REMOTE_SERVICE_NAME = N'//redial/logging/initiator',
             PRIORITY_LEVEL = 3);
    /* Dropped by hand, it is written down already. */
    IF NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/target')
        INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'BROKER PRIORITY', N'redial/logging/target');
    COMMIT TRANSACTION;
END
/* Another level, or another version of the contract: one that is still named here could not be dropped.
   Only one of ours is changed; somebody else's of this name 0_preflight has refused. */
ELSE IF EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/logging/target')
    AND NOT EXISTS (SELECT 1
                    FROM sys.conversation_priorities AS cp
                    INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
                    INNER JOIN sys.services AS s ON s.service_id = cp.local_service_id
                    WHERE cp.name = N'redial/logging/target'
                      AND cp.priority = 3
                      AND sc.name COLLATE Latin1_General_BIN2 = N'//redial/logging/contract'
                      AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target'
                      AND cp.remote_service_name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator')
BEGIN
    ALTER BROKER PRIORITY [redial/logging/target] FOR CONVERSATION
        SET (CONTRACT_NAME = [//redial/logging/contract],
             LOCAL_SERVICE_NAME = [//redial/logging/target],
             REMOTE_SERVICE_NAME = N'//redial/logging/initiator',
             PRIORITY_LEVEL = 3);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Who may do what. A DENY on what is granted here was decided by somebody, and GRANT would take it away (F-505):
   it is given back in the same transaction, so nobody is let in meanwhile. */
SET XACT_ABORT ON;
DECLARE @deny nvarchar(1200);
DECLARE @denied TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Statement nvarchar(1200) NOT NULL);
INSERT INTO @denied (Statement)
SELECT CONCAT(N'DENY ', p.permission_name COLLATE DATABASE_DEFAULT, N' ON ',
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[logging].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'logging_sender', N'logging_operator', N'logging_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'logging')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'logging'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Send] TO [logging_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[logging].[usp_ResendPending] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ResendStranded] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_CloseEverlasting] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[ConversationLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[DeadLetter] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[DeploymentHistory] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[ErrorLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Gate] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Migration] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[OperatorLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[PoisonAttempt] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Setting] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_DeadLetters] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Unlanded] TO [logging_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[logging].[ConversationLog] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[Landing] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[vw_Unlanded] TO [logging_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[logging].[usp_SendBatch] TO [logging_sender];
GRANT EXECUTE ON TYPE::[logging].[MessageBatch] TO [logging_sender];
GRANT SELECT, INSERT ON OBJECT::[logging].[Outbox] TO [logging_sender];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Health] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_CheckHealth] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Trace] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Figures] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Sessions] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Conversations] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Queues] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Pending] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Errors] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_FailedConversations] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_DeadLetterCauses] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Findings] TO [logging_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Drain] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_OpenGate] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_EndLeaked] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ReplayDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_MarkDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Resend] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_StartQueue] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ReorganizeQueue] TO [logging_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[logging].[usp_AcknowledgeLanding] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[LandingAcknowledged] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[LandingAcknowledged] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_AcknowledgeLanding] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeLogs] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeLanding] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgePoison] TO [logging_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[logging].[DeploymentAttempt] TO [logging_operator];

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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[logging].[ConversationLog]'), (N'[logging].[DeadLetter]'), (N'[logging].[DeploymentHistory]'),
               (N'[logging].[DeploymentText]'), (N'[logging].[ErrorLog]'), (N'[logging].[Everlasting]'),
               (N'[logging].[Gate]'), (N'[logging].[Landing]'), (N'[logging].[Migration]'),
               (N'[logging].[OperatorLog]'), (N'[logging].[OwnedObject]'), (N'[logging].[PoisonAttempt]'),
               (N'[logging].[ReceivedBatch]'), (N'[logging].[SentMessage]'), (N'[logging].[SessionConversations]'),
               (N'[logging].[Setting]'), (N'[logging].[usp_AcquireConversation]'), (N'[logging].[usp_ArmTimer]'),
               (N'[logging].[usp_BeginConversation]'), (N'[logging].[usp_CloseEverlasting]'),
               (N'[logging].[usp_CountRefusals]'), (N'[logging].[usp_DropCopies]'), (N'[logging].[usp_EndInitiator]'),
               (N'[logging].[usp_EndTarget]'), (N'[logging].[usp_FindPoison]'), (N'[logging].[usp_LandBatch]'),
               (N'[logging].[usp_LandRow]'), (N'[logging].[usp_LogError]'), (N'[logging].[usp_Mark]'),
               (N'[logging].[usp_MoveCopies]'), (N'[logging].[usp_PickConversation]'),
               (N'[logging].[usp_ReadErrorBody]'), (N'[logging].[usp_RecordPoison]'), (N'[logging].[usp_ResendLeft]'),
               (N'[logging].[usp_ResendPending]'), (N'[logging].[usp_ResendStranded]'), (N'[logging].[usp_Send]'),
               (N'[logging].[usp_SendEndOfStream]'), (N'[logging].[usp_SenderActivation]'),
               (N'[logging].[usp_SendPrivately]'), (N'[logging].[usp_TargetActivation]'),
               (N'[logging].[usp_WaitForServer]'), (N'[logging].[vw_DeadLetters]'), (N'[logging].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [logging] was activated: an earlier script failed and something its reader needs is missing. Next: run the files again from 0_preflight.sql on.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [logging].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [logging].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 1
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[logging].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    ALTER QUEUE [logging].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [logging].[usp_SenderActivation],
        MAX_QUEUE_READERS = 1,
        EXECUTE AS N'logging_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [logging].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [logging].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[logging].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 1
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[logging].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    ALTER QUEUE [logging].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [logging].[usp_TargetActivation],
        MAX_QUEUE_READERS = 1,
        EXECUTE AS N'logging_module'
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* An index of Landing that these choices do not make. */
IF INDEXPROPERTY(OBJECT_ID(N'[logging].[Landing]', N'U'), N'IX_Landing_Conversation', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Conversation] ON [logging].[Landing];
IF INDEXPROPERTY(OBJECT_ID(N'[logging].[Landing]', N'U'), N'IX_Landing_Key', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Key] ON [logging].[Landing];
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
    (N'TABLE', N'HeldKey'), (N'TABLE', N'IdleWatch'), (N'TABLE', N'Inbox'), (N'TABLE', N'KeySequence'),
    (N'TABLE', N'SendLedger'), (N'TABLE', N'SkippedNumber'), (N'FUNCTION', N'ufn_HealthBroker'),
    (N'FUNCTION', N'ufn_HealthConversations'), (N'FUNCTION', N'ufn_HealthData'), (N'FUNCTION', N'ufn_HealthPending'),
    (N'FUNCTION', N'ufn_HealthQueues'), (N'FUNCTION', N'ufn_ReadEnvelope'), (N'PROCEDURE', N'usp_BeginPartition'),
    (N'PROCEDURE', N'usp_EndPartition'), (N'PROCEDURE', N'usp_PurgeInbox'), (N'PROCEDURE', N'usp_PurgeSendLedger'),
    (N'PROCEDURE', N'usp_QueueTrouble'), (N'PROCEDURE', N'usp_RecycleConversation'),
    (N'PROCEDURE', N'usp_RecycleInOneTransaction'), (N'PROCEDURE', N'usp_RehearseLanding'),
    (N'PROCEDURE', N'usp_RetireIdle'), (N'PROCEDURE', N'usp_SeesPending'), (N'PROCEDURE', N'usp_TakeTurn'),
    (N'PROCEDURE', N'usp_WaitForSlot');
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
    WHERE @dropKind <> N'TYPE' AND o.schema_id = SCHEMA_ID(N'logging') AND o.name = @dropName;
    SELECT @dropOurs = CASE WHEN EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made') THEN 1 ELSE 0 END
    FROM sys.types AS t
    WHERE @dropKind = N'TYPE' AND t.schema_id = SCHEMA_ID(N'logging') AND t.name = @dropName;
    IF @dropOurs IS NULL
        CONTINUE;       /* nothing of this name is there */
    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N'[logging].', QUOTENAME(@dropName), N' was not made by Redial: kept.');
        CONTINUE;
    END;
    IF @dropKind = N'TABLE'
    BEGIN
        SET @dropStatement = CONCAT(N'IF EXISTS (SELECT 1 FROM ', N'[logging].', QUOTENAME(@dropName), N') SET @ours = 0;');
        EXECUTE sys.sp_executesql @dropStatement, N'@ours bit OUTPUT', @ours = @dropOurs OUTPUT;
        IF @dropOurs = 0
        BEGIN
            PRINT CONCAT(N'Table [logging].', QUOTENAME(@dropName), N' is of an earlier choice and has rows: kept.');
            CONTINUE;
        END;
    END;

    BEGIN TRANSACTION;
    IF @dropKind IN (N'TABLE', N'TYPE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'logging', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    SET @dropStatement = CONCAT(N'DROP ', @dropKind, N' ', N'[logging].', QUOTENAME(@dropName), N';');
    EXECUTE sys.sp_executesql @dropStatement;
    COMMIT TRANSACTION;
END;

/* Versions of the contract that are no longer listed. The target service lets go of one when no
   conversation is on it: what ALTER SERVICE .. DROP CONTRACT does to those is told in two ways (F-193). */
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging'));
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
  AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/target'
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/logging/contract')
  AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = sc.service_contract_id);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @statement = CONCAT(N'ALTER SERVICE ', N'[//redial/logging/target]', N' (DROP CONTRACT ', QUOTENAME(@name), N');');
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
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/logging/initiator', N'//redial/logging/target');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'CONTRACT', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_contracts AS x ON x.service_contract_id = ep.major_id
WHERE ep.class = 16
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/logging/contract');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'MESSAGE TYPE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_message_types AS x ON x.message_type_id = ep.major_id
WHERE ep.class = 15
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/logging/event', N'EndOfStream');

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
        SET @releaseStatement = CONCAT(N'REVOKE REFERENCES ON ', @releaseKind, N'::', QUOTENAME(@releaseName), N' FROM ', N'[logging_module]', N';');
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
WHERE q.schema_id = SCHEMA_ID(N'logging')
  AND q.name NOT IN (N'InitiatorQueue', N'TargetQueue', N'TroubleQueue')
  AND NOT EXISTS (SELECT 1
                  FROM sys.internal_tables AS it
                  INNER JOIN sys.partitions AS p ON p.object_id = it.object_id
                  WHERE it.parent_object_id = q.object_id AND p.rows > 0);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @queue = CONCAT(N'[logging].', QUOTENAME(@name));
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
            @level0name = N'logging', @level1type = N'QUEUE', @level1name = @name;
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
    (LEFT(CONCAT(N'Redial logging: resend stranded, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial logging: health, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial logging: purge landing, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial logging: purge poison, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial logging: purge logs, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial logging: purge dead letters, ', DB_NAME()), 128));
DECLARE @job nvarchar(128);
DECLARE @kind nvarchar(60);
DECLARE @lastJob nvarchar(128) = N'';
WHILE 1 = 1
BEGIN
    SET @job = NULL;
    SELECT TOP (1) @job = o.Name, @kind = o.Kind
    FROM [logging].[OwnedObject] AS o
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
        DELETE FROM [logging].[OwnedObject] WHERE Kind = @kind AND Name = @job;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
            DELETE FROM [logging].[OwnedObject] WHERE Kind = @kind AND Name = @job;
        ELSE
            PRINT CONCAT(@kind, N' "', @job, N'" is of an earlier choice and was not deleted: ', ERROR_MESSAGE());
    END CATCH;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [logging].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'e871dd1bc17d303f08fdbcac80bdf454c6bf455941ace86c73bbd00ac329ad14'
BEGIN
    INSERT INTO [logging].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'logging', N'0.1.0', N'e871dd1bc17d303f08fdbcac80bdf454c6bf455941ace86c73bbd00ac329ad14');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
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
    (N'resend stranded', N'EXECUTE [logging].[usp_ResendStranded];', 5),
    (N'health', N'EXECUTE [logging].[usp_CheckHealth];', 15),
    (N'purge landing', N'EXECUTE [logging].[usp_PurgeLanding] @WhatIf = 0;', 0),
    (N'purge poison', N'EXECUTE [logging].[usp_PurgePoison] @WhatIf = 0;', 0),
    (N'purge logs', N'EXECUTE [logging].[usp_PurgeLogs] @WhatIf = 0;', 0),
    (N'purge dead letters', N'EXECUTE [logging].[usp_PurgeDeadLetter] @reason = N''retention, by agent job'', @WhatIf = 0;', 0);
WHILE EXISTS (SELECT 1 FROM @jobs)
BEGIN
    SELECT TOP (1) @task = j.Task, @command = j.Command, @minutes = j.Minutes FROM @jobs AS j ORDER BY j.Task;
    DELETE FROM @jobs WHERE Task = @task;
    SELECT @job = LEFT(CONCAT(N'Redial logging: ', @task, N', ', @database), 128),
        @often = CASE @minutes WHEN 0 THEN N'once a day' ELSE CONCAT(N'every ', @minutes, N' minutes') END,
        @step = CONCAT(N'DECLARE @database sysname = N''', REPLACE(@database, N'''', N''''''), N''', @work nvarchar(max) = N''',
            N'IF IS_SRVROLEMEMBER(N''''sysadmin'''') = 1 EXECUTE AS USER = N''''logging_module'''';', N' ', REPLACE(@command, N'''', N''''''), N''';', N'
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
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration logging')
           AND NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @owner_login_name = @owner, @description = N'Redial 0.1.0, configuration logging';
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

        IF NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* The choices installed from here on, and the gate that 29_change has closed, in one transaction: a
   deployment that stops before it is still the change of choices it was. Changes only what differs. */
SET XACT_ABORT ON;

DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N'config_id', N'1', 1),
    (N'conversation.key', N'single', 1),
    (N'conversation.recycle', N'never', 1),
    (N'conversation.timer_strategy', N'two_phase', 1),
    (N'conversation.order', N'conversation', 1),
    (N'conversation.delivery', N'at_least_once', 1),
    (N'conversation.copies', N'until_landed', 1),
    (N'conversation.numbers', N'counted', 1),
    (N'envelope.who', N'0', 1),
    (N'contract.end_of_stream', N'EndOfStream', 1),
    (N'services.initiator', N'//redial/logging/initiator', 1),
    (N'services.target', N'//redial/logging/target', 1),
    (N'queues.initiator', N'InitiatorQueue', 1),
    (N'queues.target', N'TargetQueue', 1),
    (N'target.database', N'', 1),
    (N'pool.size', N'0', 0),
    (N'target.processing', N'land', 0),
    (N'conversation.encryption', N'0', 0),
    (N'conversation.lifetime_seconds', N'2147483647', 0),
    (N'contract.name', N'//redial/logging/contract', 1),
    (N'roles.module', N'logging_module', 0);

BEGIN TRANSACTION;
UPDATE st
SET Value = w.Value, ChangedUtc = SYSUTCDATETIME()
FROM [logging].[Setting] AS st
INNER JOIN @wanted AS w ON w.Name = st.Name
WHERE st.Value IS NULL OR st.Value <> w.Value COLLATE Latin1_General_BIN2;   /* as 29_change compares (F-376) */

INSERT INTO [logging].[Setting] (Name, Value)
SELECT w.Name, w.Value
FROM @wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM [logging].[Setting] AS st WHERE st.Name = w.Name);

IF EXISTS (SELECT 1 FROM [logging].[Setting] AS st WHERE st.Name = N'deployment.gate')
BEGIN
    /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
    UPDATE g
    SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment finished'
    FROM [logging].[Gate] AS g
    WHERE g.ConfigId = 1;
    DELETE FROM [logging].[Setting] WHERE Name = N'deployment.gate';
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'logging') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'e871dd1bc17d303f 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
DECLARE @property int;
EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.files', @level0type = N'SCHEMA', @level0name = N'logging';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
PRINT N'Redial 0.1.0, configuration logging: installed.';
GO
SET NOEXEC OFF;
GO
