/* Redial 0.1.0, configuration audit: 9_finish.sql, rights, readers switched on, what earlier choices left; looks whether all is there. */
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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'65897640aba40bc1 [7-9]')
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
    (N'usp_Mark', 0x1f4024f3606896a7), (N'DeploymentHistory', NULL), (N'DeploymentText', NULL), (N'Migration', NULL),
    (N'OwnedObject', NULL), (N'Setting', NULL), (N'ConversationLog', NULL), (N'DeadLetter', NULL), (N'ErrorLog', NULL),
    (N'Gate', NULL), (N'Landing', NULL), (N'OperatorLog', NULL), (N'PoisonAttempt', NULL), (N'SentMessage', NULL),
    (N'SessionConversations', NULL), (N'ReceivedBatch', NULL), (N'ufn_ReadEnvelope', 0x16e1e53a9c894b36),
    (N'usp_ArmTimer', 0x2ef79e5adb233e4e), (N'usp_DropCopies', 0x136c736e268b0469),
    (N'usp_LogError', 0xba93faab9ab6a7bb), (N'usp_ReadErrorBody', 0xb3fb45c65c0e8b96),
    (N'usp_RecordPoison', 0x30cf0bd5d7f68fa0), (N'usp_SendEndOfStream', 0x94998c25b85825cd),
    (N'usp_SendPrivately', 0x810c9134ce8958c8), (N'usp_WaitForServer', 0x94bd13a6b8a7373b),
    (N'usp_BeginConversation', 0xbdca2d9bdc8fcb14), (N'usp_AcquireConversation', 0x33aa3d43495f6356),
    (N'usp_Send', 0xae7c307b6228a877), (N'usp_RecycleConversation', 0x33d5c48c05d88284),
    (N'usp_MoveCopies', 0xee6402513cc62774), (N'usp_ResendPending', 0x8e370d0cfbbb3c8c),
    (N'usp_EndInitiator', 0x49045ebbc90d1d3d), (N'usp_ResendLeft', 0x58e7992d6428013c),
    (N'usp_ResendStranded', 0x4050bd314e83c00f), (N'usp_SenderActivation', 0x8cd6b7f70b61ed3c),
    (N'usp_CountRefusals', 0xfc5080232123591f), (N'usp_LandRow', 0x31f2a5ed0682910a),
    (N'usp_LandBatch', 0x913156f3c9b72acd), (N'usp_EndTarget', 0x9534a10faa3e3c0f),
    (N'usp_FindPoison', 0xd34fdb069e59fa6e), (N'usp_PickConversation', 0xc3e0e13b8b17a00f),
    (N'usp_TakeTurn', 0x8682a1d84d63e6a0), (N'usp_TargetActivation', 0x9b5a9c6f624b91a8),
    (N'vw_DeadLetters', 0x0c964153b2cfd38e), (N'vw_Unlanded', 0xe3bdd60f85131668), (N'MessageBatch', NULL),
    (N'ufn_ReadBatch', 0x5615643b0205f270), (N'usp_CheckMessages', 0xb376bfcf40bff098),
    (N'usp_SendMessages', 0x9b322de69b902c02), (N'usp_SendBatch', 0x5ff851c1bdfd945b), (N'Outbox', 0x5bc8d0e32cda7785),
    (N'Outbox_Insert', 0x6643752b8e50bf3b), (N'ufn_Conversations', 0xcdbfe2ffd26d7944),
    (N'ufn_Leaked', 0x0b12f35d77c2617b), (N'ufn_Pending', 0x5d37aee876b179f4), (N'ufn_QueuePages', 0x30cfd7bc8235bd6f),
    (N'ufn_Queues', 0x7d1c4f6fc393e0bb), (N'ufn_DialogOf', 0x95401e285ff11864),
    (N'ufn_DialogTrail', 0xaf409b54eb138e2f), (N'ufn_SentAgain', 0xc2052313ec9b7bd2),
    (N'ufn_Sides', 0xa159a32ca9eddecf), (N'ufn_Trail', 0x37f358b4eb5b94d7), (N'vw_Findings', 0x3ebb1f636abb0c17),
    (N'usp_CheckHealth', 0x9c629fe1ff8517fa), (N'usp_Figures', 0xdfd98ea07c86a3c4), (N'usp_Health', 0x4f491999c50eea3e),
    (N'usp_Sessions', 0xa3e1c148967533be), (N'usp_Trace', 0x24e11670012d7be7),
    (N'vw_Conversations', 0x0bef0b32e11d14ae), (N'vw_DeadLetterCauses', 0xd9509d6549b60323),
    (N'vw_Errors', 0x7baf452fa5b24589), (N'vw_FailedConversations', 0x47f07c8c7a59e768),
    (N'vw_Pending', 0x7f9fd7b37418fd01), (N'vw_Queues', 0xafa76d45403e7195), (N'IdleWatch', NULL),
    (N'ufn_DeadLetters', 0xa6615630c0f2f463), (N'usp_OpenGate', 0x4968733656e7479a),
    (N'usp_CloseDialogs', 0x5ab14656ce77e550), (N'usp_CloseGate', 0x70682dd96fbb6bb9),
    (N'usp_EndLeakedOne', 0xb42f4782b0549605), (N'usp_InTheWay', 0xe06c1569eddcaf80),
    (N'usp_ReopenGate', 0xcc1e7196550e6ac3), (N'usp_WaitForEnds', 0x0e4bafd2bf944ca1),
    (N'usp_Drain', 0x74c661a607235aed), (N'usp_EndLeaked', 0x3fecc7549422ac40),
    (N'usp_MarkDeadLetter', 0x828893be53ebd920), (N'usp_ReorganizeQueue', 0x63516cfb4cc23cd3),
    (N'usp_ReplayDeadLetter', 0x59043ceee95a82b2), (N'usp_Resend', 0x65f3b06ff2ca8ac7),
    (N'usp_RetireIdle', 0x85b629c2afefb068), (N'usp_StartQueue', 0xdd78e9e218952c1d), (N'LandingAcknowledged', NULL),
    (N'usp_AcknowledgeLanding', 0x5b468498e95ccfea), (N'usp_PurgeDeadLetter', 0x9004a06618482aa4),
    (N'usp_PurgeLanding', 0x9d85f29e072eb0ee), (N'usp_PurgeLogs', 0x9c3f21623a7f0655),
    (N'usp_PurgePoison', 0xa41b432ad59e0f03), (N'DeploymentAttempt', NULL);
INSERT INTO @left (Name)
SELECT d.Name
FROM @made AS d
LEFT OUTER JOIN sys.sql_modules AS m ON m.object_id = OBJECT_ID(CONCAT(N'[audit]', N'.', QUOTENAME(d.Name)))
OUTER APPLY (SELECT CONCAT(N'[audit].', QUOTENAME(d.Name)) AS Own) AS o
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
           WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files')
    EXECUTE sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'65897640aba40bc1 9', @level0type = N'SCHEMA', @level0name = N'audit';
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Level 5 is what conversations have without any priority: one of an earlier choice is removed. */
IF EXISTS (SELECT 1 FROM [audit].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/audit/initiator')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/audit/initiator')
    BEGIN
        DROP BROKER PRIORITY [redial/audit/initiator];
    END;
    DELETE FROM [audit].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/audit/initiator';
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF EXISTS (SELECT 1 FROM [audit].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/audit/target')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/audit/target')
    BEGIN
        DROP BROKER PRIORITY [redial/audit/target];
    END;
    DELETE FROM [audit].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/audit/target';
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Who may do what. A DENY on what is granted here was decided by somebody, and GRANT would take it away (F-505):
   it is given back in the same transaction, so nobody is let in meanwhile. */
SET XACT_ABORT ON;
DECLARE @deny nvarchar(1200);
DECLARE @denied TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Statement nvarchar(1200) NOT NULL);
INSERT INTO @denied (Statement)
SELECT CONCAT(N'DENY ', p.permission_name COLLATE DATABASE_DEFAULT, N' ON ',
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[audit].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'audit_sender', N'audit_operator', N'audit_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'audit')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'audit'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Send] TO [audit_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendPending] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendStranded] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeadLetter] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeploymentHistory] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ErrorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Gate] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Migration] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[OperatorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[PoisonAttempt] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Setting] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_DeadLetters] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Unlanded] TO [audit_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[Landing] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[vw_Unlanded] TO [audit_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[audit].[usp_SendBatch] TO [audit_sender];
GRANT EXECUTE ON TYPE::[audit].[MessageBatch] TO [audit_sender];
GRANT SELECT, INSERT ON OBJECT::[audit].[Outbox] TO [audit_sender];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Health] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_CheckHealth] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Trace] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Figures] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Sessions] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Conversations] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Queues] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Pending] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Errors] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_FailedConversations] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_DeadLetterCauses] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Findings] TO [audit_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Drain] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_OpenGate] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_EndLeaked] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_RetireIdle] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ReplayDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_MarkDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Resend] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_StartQueue] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ReorganizeQueue] TO [audit_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[LandingAcknowledged] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[LandingAcknowledged] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLogs] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgePoison] TO [audit_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[audit].[DeploymentAttempt] TO [audit_operator];

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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[audit].[ConversationLog]'), (N'[audit].[DeadLetter]'), (N'[audit].[DeploymentHistory]'),
               (N'[audit].[DeploymentText]'), (N'[audit].[ErrorLog]'), (N'[audit].[Gate]'), (N'[audit].[Landing]'),
               (N'[audit].[Migration]'), (N'[audit].[OperatorLog]'), (N'[audit].[OwnedObject]'),
               (N'[audit].[PoisonAttempt]'), (N'[audit].[ReceivedBatch]'), (N'[audit].[SentMessage]'),
               (N'[audit].[SessionConversations]'), (N'[audit].[Setting]'), (N'[audit].[ufn_ReadEnvelope]'),
               (N'[audit].[usp_AcquireConversation]'), (N'[audit].[usp_ArmTimer]'),
               (N'[audit].[usp_BeginConversation]'), (N'[audit].[usp_CountRefusals]'), (N'[audit].[usp_DropCopies]'),
               (N'[audit].[usp_EndInitiator]'), (N'[audit].[usp_EndTarget]'), (N'[audit].[usp_FindPoison]'),
               (N'[audit].[usp_LandBatch]'), (N'[audit].[usp_LandRow]'), (N'[audit].[usp_LogError]'),
               (N'[audit].[usp_Mark]'), (N'[audit].[usp_MoveCopies]'), (N'[audit].[usp_PickConversation]'),
               (N'[audit].[usp_ReadErrorBody]'), (N'[audit].[usp_RecordPoison]'),
               (N'[audit].[usp_RecycleConversation]'), (N'[audit].[usp_ResendLeft]'), (N'[audit].[usp_ResendPending]'),
               (N'[audit].[usp_ResendStranded]'), (N'[audit].[usp_Send]'), (N'[audit].[usp_SendEndOfStream]'),
               (N'[audit].[usp_SenderActivation]'), (N'[audit].[usp_SendPrivately]'), (N'[audit].[usp_TakeTurn]'),
               (N'[audit].[usp_TargetActivation]'), (N'[audit].[usp_WaitForServer]'), (N'[audit].[vw_DeadLetters]'),
               (N'[audit].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [audit] was activated: an earlier script failed and something its reader needs is missing. Next: run the files again from 0_preflight.sql on.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [audit].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [audit].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 2
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[audit].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER QUEUE [audit].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [audit].[usp_SenderActivation],
        MAX_QUEUE_READERS = 2,
        EXECUTE AS N'audit_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [audit].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [audit].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[audit].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[audit].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER QUEUE [audit].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
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
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* An index of Landing that these choices do not make. */
IF INDEXPROPERTY(OBJECT_ID(N'[audit].[Landing]', N'U'), N'IX_Landing_Conversation', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Conversation] ON [audit].[Landing];
IF INDEXPROPERTY(OBJECT_ID(N'[audit].[Landing]', N'U'), N'IX_Landing_Key', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Key] ON [audit].[Landing];
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
    (N'TABLE', N'Everlasting'), (N'TABLE', N'HeldKey'), (N'TABLE', N'Inbox'), (N'TABLE', N'KeySequence'),
    (N'TABLE', N'SendLedger'), (N'TABLE', N'SkippedNumber'), (N'FUNCTION', N'ufn_HealthBroker'),
    (N'FUNCTION', N'ufn_HealthConversations'), (N'FUNCTION', N'ufn_HealthData'), (N'FUNCTION', N'ufn_HealthPending'),
    (N'FUNCTION', N'ufn_HealthQueues'), (N'PROCEDURE', N'usp_BeginPartition'), (N'PROCEDURE', N'usp_CloseEverlasting'),
    (N'PROCEDURE', N'usp_EndPartition'), (N'PROCEDURE', N'usp_PurgeInbox'), (N'PROCEDURE', N'usp_PurgeSendLedger'),
    (N'PROCEDURE', N'usp_QueueTrouble'), (N'PROCEDURE', N'usp_RecycleInOneTransaction'),
    (N'PROCEDURE', N'usp_RehearseLanding'), (N'PROCEDURE', N'usp_SeesPending'), (N'PROCEDURE', N'usp_WaitForSlot');
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
    IF @dropKind = N'TABLE'
    BEGIN
        SET @dropStatement = CONCAT(N'IF EXISTS (SELECT 1 FROM ', N'[audit].', QUOTENAME(@dropName), N') SET @ours = 0;');
        EXECUTE sys.sp_executesql @dropStatement, N'@ours bit OUTPUT', @ours = @dropOurs OUTPUT;
        IF @dropOurs = 0
        BEGIN
            PRINT CONCAT(N'Table [audit].', QUOTENAME(@dropName), N' is of an earlier choice and has rows: kept.');
            CONTINUE;
        END;
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

/* Versions of the contract that are no longer listed. The target service lets go of one when no
   conversation is on it: what ALTER SERVICE .. DROP CONTRACT does to those is told in two ways (F-193). */
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
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
  AND s.name COLLATE Latin1_General_BIN2 = N'//redial/audit/target'
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/contract')
  AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = sc.service_contract_id);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @statement = CONCAT(N'ALTER SERVICE ', N'[//redial/audit/target]', N' (DROP CONTRACT ', QUOTENAME(@name), N');');
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
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/initiator', N'//redial/audit/target');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'CONTRACT', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_contracts AS x ON x.service_contract_id = ep.major_id
WHERE ep.class = 16
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/contract');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'MESSAGE TYPE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_message_types AS x ON x.message_type_id = ep.major_id
WHERE ep.class = 15
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/audit/event', N'EndOfStream');

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
        SET @releaseStatement = CONCAT(N'REVOKE REFERENCES ON ', @releaseKind, N'::', QUOTENAME(@releaseName), N' FROM ', N'[audit_module]', N';');
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
WHERE q.schema_id = SCHEMA_ID(N'audit')
  AND q.name NOT IN (N'InitiatorQueue', N'TargetQueue', N'TroubleQueue')
  AND NOT EXISTS (SELECT 1
                  FROM sys.internal_tables AS it
                  INNER JOIN sys.partitions AS p ON p.object_id = it.object_id
                  WHERE it.parent_object_id = q.object_id AND p.rows > 0);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @queue = CONCAT(N'[audit].', QUOTENAME(@name));
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
            @level0name = N'audit', @level1type = N'QUEUE', @level1name = @name;
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
        DELETE FROM [audit].[OwnedObject] WHERE Kind = @kind AND Name = @job;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
            DELETE FROM [audit].[OwnedObject] WHERE Kind = @kind AND Name = @job;
        ELSE
            PRINT CONCAT(@kind, N' "', @job, N'" is of an earlier choice and was not deleted: ', ERROR_MESSAGE());
    END CATCH;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [audit].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'65897640aba40bc152d10f24c702554950056140f4f9abeab9af71de400fc571'
BEGIN
    INSERT INTO [audit].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'audit', N'0.1.0', N'65897640aba40bc152d10f24c702554950056140f4f9abeab9af71de400fc571');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* The choices installed from here on, and the gate that 29_change has closed, in one transaction: a
   deployment that stops before it is still the change of choices it was. Changes only what differs. */
SET XACT_ABORT ON;

DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
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

BEGIN TRANSACTION;
UPDATE st
SET Value = w.Value, ChangedUtc = SYSUTCDATETIME()
FROM [audit].[Setting] AS st
INNER JOIN @wanted AS w ON w.Name = st.Name
WHERE st.Value IS NULL OR st.Value <> w.Value COLLATE Latin1_General_BIN2;   /* as 29_change compares (F-376) */

INSERT INTO [audit].[Setting] (Name, Value)
SELECT w.Name, w.Value
FROM @wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = w.Name);

IF EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate')
BEGIN
    /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
    UPDATE g
    SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment finished'
    FROM [audit].[Gate] AS g
    WHERE g.ConfigId = 1;
    DELETE FROM [audit].[Setting] WHERE Name = N'deployment.gate';
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'audit') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'65897640aba40bc1 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
DECLARE @property int;
EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.files', @level0type = N'SCHEMA', @level0name = N'audit';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
PRINT N'Redial 0.1.0, configuration audit: installed.';
GO
SET NOEXEC OFF;
GO
