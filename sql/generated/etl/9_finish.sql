/* Redial 0.1.0, configuration etl: 9_finish.sql, rights, readers switched on, what earlier choices left; looks whether all is there. */
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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'cb921dde8c51202a [7-9]')
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
    (N'usp_Mark', 0x115da27ec55cf046), (N'DeploymentHistory', NULL), (N'DeploymentText', NULL), (N'Migration', NULL),
    (N'OwnedObject', NULL), (N'Setting', NULL), (N'ConversationLog', NULL), (N'DeadLetter', NULL), (N'ErrorLog', NULL),
    (N'Gate', NULL), (N'Inbox', NULL), (N'Landing', NULL), (N'OperatorLog', NULL), (N'PoisonAttempt', NULL),
    (N'SentMessage', NULL), (N'SessionConversations', NULL), (N'ReceivedBatch', NULL),
    (N'ufn_ReadEnvelope', 0xd718de6dc8ee7265), (N'usp_ArmTimer', 0x830522b1c9572ce3),
    (N'usp_DropCopies', 0x0fefbb232c99e556), (N'usp_LogError', 0xc1f89d7cb47ffbfb),
    (N'usp_ReadErrorBody', 0x2d2dde9084332f99), (N'usp_RecordPoison', 0xfd94db4a3acee898),
    (N'usp_SendEndOfStream', 0xb718e01fe48aa0e1), (N'usp_SendPrivately', 0xedd0292ab2960983),
    (N'usp_WaitForServer', 0xb79a03ce01647b01), (N'usp_BeginConversation', 0xd294f5ce105863fe),
    (N'usp_WaitForSlot', 0xb128caab65b31720), (N'usp_AcquireConversation', 0xa73f61e45dbbfddc),
    (N'usp_Send', 0x94120f4b9070b4c4), (N'usp_RecycleConversation', 0x78ba3922583c817e),
    (N'usp_MoveCopies', 0x078f0de647e2264d), (N'usp_ResendPending', 0xee34abd4a3302fc9),
    (N'usp_EndInitiator', 0x1e246f8ab597c089), (N'usp_ResendLeft', 0x8538b1f208bd53e0),
    (N'usp_ResendStranded', 0xd855975e684e1a6a), (N'usp_SenderActivation', 0x5f6346af743ef374),
    (N'usp_CountRefusals', 0x59f5e5d449b24859), (N'usp_LandRow', 0x1a8e421bc218458c),
    (N'usp_LandBatch', 0x587b68e7ba194dde), (N'usp_EndTarget', 0xc6e6b67ae1810328),
    (N'usp_FindPoison', 0xb180782796031bd5), (N'usp_PickConversation', 0x7ad4c3232e3f5b3b),
    (N'usp_TakeTurn', 0x8465686109e5320b), (N'usp_TargetActivation', 0x61355c27d95c0f21),
    (N'vw_DeadLetters', 0xea71a353ce53d44e), (N'vw_Unlanded', 0x2fef6dd77fb2b3c9), (N'MessageBatch', NULL),
    (N'ufn_ReadBatch', 0xc059946ab271ddaf), (N'usp_CheckMessages', 0x162302be56a01366),
    (N'usp_SendMessages', 0x2895c78cb0babc4f), (N'usp_SendBatch', 0x95aae53265c005a8), (N'Outbox', 0xc359d180221483a4),
    (N'Outbox_Insert', 0x5153f3a6a9409e74), (N'SendLedger', NULL), (N'usp_BeginPartition', 0x159bb29301276890),
    (N'usp_EndPartition', 0x2d03914584f42217), (N'usp_PurgeSendLedger', 0x1d0de3ee3e75fa40),
    (N'ufn_Conversations', 0xc125f01ef1bee190), (N'ufn_Leaked', 0xae34460c5a51af32),
    (N'ufn_Pending', 0x6a5d98d33d33320d), (N'ufn_QueuePages', 0x56fb1f2ab1bb68a0), (N'ufn_Queues', 0x935d052a412f49e6),
    (N'ufn_DialogOf', 0x7e3e65fc43e04324), (N'ufn_DialogTrail', 0x5bb05b4bbca2889c),
    (N'ufn_SentAgain', 0x0ca403616700488f), (N'ufn_Sides', 0x5efe1e394e442e47), (N'ufn_Trail', 0xf390ace07f49037b),
    (N'vw_Findings', 0x9d9518518d131e09), (N'usp_CheckHealth', 0xe7f7496fead162da),
    (N'usp_Figures', 0x335cf9193bbefe88), (N'usp_Health', 0x49a767dfdde738e4), (N'usp_Sessions', 0x1b3bd7a1f7479727),
    (N'usp_Trace', 0xd0a07df8cf8a8ceb), (N'vw_Conversations', 0x4fffb48c06e24859),
    (N'vw_DeadLetterCauses', 0x16652fb75f80c72f), (N'vw_Errors', 0xe554bd54b526cf2a),
    (N'vw_FailedConversations', 0xf3b6d4ad47fe44b2), (N'vw_Pending', 0x862cffd91d95f66d),
    (N'vw_Queues', 0xc0c6a03b13f1f0ae), (N'IdleWatch', NULL), (N'ufn_DeadLetters', 0x073defdd78c1bfac),
    (N'usp_OpenGate', 0x47c6ca696e82931f), (N'usp_CloseDialogs', 0x3f4189955a3bcc02),
    (N'usp_CloseGate', 0x25f4839906e8694c), (N'usp_EndLeakedOne', 0x319f30366906f731),
    (N'usp_InTheWay', 0xcc29f2939d3820d5), (N'usp_ReopenGate', 0xba66ff50749a4d01),
    (N'usp_WaitForEnds', 0x738d0896de758062), (N'usp_Drain', 0xc4f0ec6ebd2368c6),
    (N'usp_EndLeaked', 0x0e17a95b26f1bfa3), (N'usp_MarkDeadLetter', 0xa3a8e55fea8b44e8),
    (N'usp_ReorganizeQueue', 0x68c52c0214c77bbe), (N'usp_ReplayDeadLetter', 0x9df1abf627586933),
    (N'usp_Resend', 0x7c962f038682af41), (N'usp_RetireIdle', 0xeab390f3e008eda2),
    (N'usp_StartQueue', 0x417d908444e504be), (N'LandingAcknowledged', NULL),
    (N'usp_AcknowledgeLanding', 0x4e1330479c423a89), (N'usp_PurgeDeadLetter', 0x3cf2ad60c3debcd1),
    (N'usp_PurgeInbox', 0xc7b7c7f0e2c2514d), (N'usp_PurgeLanding', 0xbc500b101ee5a431),
    (N'usp_PurgeLogs', 0x045a37b432d9aa5c), (N'usp_PurgePoison', 0x331d87f50378b165), (N'DeploymentAttempt', NULL);
INSERT INTO @left (Name)
SELECT d.Name
FROM @made AS d
LEFT OUTER JOIN sys.sql_modules AS m ON m.object_id = OBJECT_ID(CONCAT(N'[etl]', N'.', QUOTENAME(d.Name)))
OUTER APPLY (SELECT CONCAT(N'[etl].', QUOTENAME(d.Name)) AS Own) AS o
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
           WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files')
    EXECUTE sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'cb921dde8c51202a 9', @level0type = N'SCHEMA', @level0name = N'etl';
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Level 5 is what conversations have without any priority: one of an earlier choice is removed. */
IF EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/etl/initiator')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/etl/initiator')
    BEGIN
        DROP BROKER PRIORITY [redial/etl/initiator];
    END;
    DELETE FROM [etl].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/etl/initiator';
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/etl/target')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/etl/target')
    BEGIN
        DROP BROKER PRIORITY [redial/etl/target];
    END;
    DELETE FROM [etl].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/etl/target';
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Who may do what. A DENY on what is granted here was decided by somebody, and GRANT would take it away (F-505):
   it is given back in the same transaction, so nobody is let in meanwhile. */
SET XACT_ABORT ON;
DECLARE @deny nvarchar(1200);
DECLARE @denied TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Statement nvarchar(1200) NOT NULL);
INSERT INTO @denied (Statement)
SELECT CONCAT(N'DENY ', p.permission_name COLLATE DATABASE_DEFAULT, N' ON ',
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[etl].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'etl_sender', N'etl_operator', N'etl_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'etl')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'etl'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
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
/* Sending in pieces that may be run again: the sender's procedures, the operator's look and purge. The
   table itself is nobody else's: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[etl].[usp_BeginPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeSendLedger] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[SendLedger] TO [etl_operator];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Health] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_CheckHealth] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Trace] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Figures] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Sessions] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Conversations] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Queues] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Pending] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Errors] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_FailedConversations] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_DeadLetterCauses] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Findings] TO [etl_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Drain] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_OpenGate] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndLeaked] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_RetireIdle] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReplayDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_MarkDeadLetter] TO [etl_operator];
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
    PRINT CONCAT(N'Left as it was: ', @deny);
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* Switches the readers on, once everything they call is there. Only what differs is changed: ALTER
   QUEUE waits for every open RECEIVE, and senders then wait behind it. A reader without
   something it calls would roll back five times and switch its queue off; where scripts go on
   after an error, what failed before is missing now. */
IF EXISTS (SELECT 1
           FROM (VALUES
               (N'[etl].[ConversationLog]'), (N'[etl].[DeadLetter]'), (N'[etl].[DeploymentHistory]'),
               (N'[etl].[DeploymentText]'), (N'[etl].[ErrorLog]'), (N'[etl].[Gate]'), (N'[etl].[Inbox]'),
               (N'[etl].[Landing]'), (N'[etl].[Migration]'), (N'[etl].[OperatorLog]'), (N'[etl].[OwnedObject]'),
               (N'[etl].[PoisonAttempt]'), (N'[etl].[ReceivedBatch]'), (N'[etl].[SentMessage]'),
               (N'[etl].[SessionConversations]'), (N'[etl].[Setting]'), (N'[etl].[ufn_ReadEnvelope]'),
               (N'[etl].[usp_AcquireConversation]'), (N'[etl].[usp_ArmTimer]'), (N'[etl].[usp_BeginConversation]'),
               (N'[etl].[usp_CountRefusals]'), (N'[etl].[usp_DropCopies]'), (N'[etl].[usp_EndInitiator]'),
               (N'[etl].[usp_EndTarget]'), (N'[etl].[usp_FindPoison]'), (N'[etl].[usp_LandBatch]'),
               (N'[etl].[usp_LandRow]'), (N'[etl].[usp_LogError]'), (N'[etl].[usp_Mark]'), (N'[etl].[usp_MoveCopies]'),
               (N'[etl].[usp_PickConversation]'), (N'[etl].[usp_ReadErrorBody]'), (N'[etl].[usp_RecordPoison]'),
               (N'[etl].[usp_RecycleConversation]'), (N'[etl].[usp_ResendLeft]'), (N'[etl].[usp_ResendPending]'),
               (N'[etl].[usp_ResendStranded]'), (N'[etl].[usp_Send]'), (N'[etl].[usp_SendEndOfStream]'),
               (N'[etl].[usp_SenderActivation]'), (N'[etl].[usp_SendPrivately]'), (N'[etl].[usp_TakeTurn]'),
               (N'[etl].[usp_TargetActivation]'), (N'[etl].[usp_WaitForServer]'), (N'[etl].[usp_WaitForSlot]'),
               (N'[etl].[vw_DeadLetters]'), (N'[etl].[vw_Unlanded]')
           ) AS needed(Name)
           WHERE OBJECT_ID(needed.Name) IS NULL AND TYPE_ID(needed.Name) IS NULL)
    THROW 50199, N'No queue of schema [etl] was activated: an earlier script failed and something its reader needs is missing. Next: run the files again from 0_preflight.sql on.', 1;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [etl].[InitiatorQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [etl].[InitiatorQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 2
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[etl].[usp_SenderActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
BEGIN
    ALTER QUEUE [etl].[InitiatorQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [etl].[usp_SenderActivation],
        MAX_QUEUE_READERS = 2,
        EXECUTE AS N'etl_module'
    );
END;

IF EXISTS (SELECT 1 FROM sys.service_queues AS q
           WHERE q.object_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ')
             AND q.activation_procedure IS NOT NULL AND q.is_activation_enabled = 0)
    PRINT N'Somebody has switched the activation of [etl].[TargetQueue] off, and the queue stays as it is. Next, when that is over: ALTER QUEUE [etl].[TargetQueue] WITH ACTIVATION (STATUS = ON); then deploy again.';
ELSE IF NOT EXISTS (SELECT 1 FROM sys.service_queues AS q
                    WHERE q.object_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ')
                      AND q.is_activation_enabled = 1
                      AND q.max_readers = 4
                      AND q.is_poison_message_handling_enabled = 1
                      AND OBJECT_ID(q.activation_procedure) = OBJECT_ID(N'[etl].[usp_TargetActivation]', N'P')
                      AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
BEGIN
    ALTER QUEUE [etl].[TargetQueue] WITH POISON_MESSAGE_HANDLING (STATUS = ON), ACTIVATION
    (
        STATUS = ON,
        PROCEDURE_NAME = [etl].[usp_TargetActivation],
        MAX_QUEUE_READERS = 4,
        EXECUTE AS N'etl_module'
    );
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* An index of Landing that these choices do not make. */
IF INDEXPROPERTY(OBJECT_ID(N'[etl].[Landing]', N'U'), N'IX_Landing_Conversation', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Conversation] ON [etl].[Landing];
IF INDEXPROPERTY(OBJECT_ID(N'[etl].[Landing]', N'U'), N'IX_Landing_Key', 'IndexID') IS NOT NULL
    DROP INDEX [IX_Landing_Key] ON [etl].[Landing];
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
    (N'TABLE', N'Everlasting'), (N'TABLE', N'HeldKey'), (N'TABLE', N'KeySequence'), (N'TABLE', N'SkippedNumber'),
    (N'FUNCTION', N'ufn_HealthBroker'), (N'FUNCTION', N'ufn_HealthConversations'), (N'FUNCTION', N'ufn_HealthData'),
    (N'FUNCTION', N'ufn_HealthPending'), (N'FUNCTION', N'ufn_HealthQueues'), (N'PROCEDURE', N'usp_CloseEverlasting'),
    (N'PROCEDURE', N'usp_QueueTrouble'), (N'PROCEDURE', N'usp_RecycleInOneTransaction'),
    (N'PROCEDURE', N'usp_RehearseLanding'), (N'PROCEDURE', N'usp_SeesPending');
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
    WHERE @dropKind <> N'TYPE' AND o.schema_id = SCHEMA_ID(N'etl') AND o.name = @dropName;
    SELECT @dropOurs = CASE WHEN EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made') THEN 1 ELSE 0 END
    FROM sys.types AS t
    WHERE @dropKind = N'TYPE' AND t.schema_id = SCHEMA_ID(N'etl') AND t.name = @dropName;
    IF @dropOurs IS NULL
        CONTINUE;       /* nothing of this name is there */
    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N'[etl].', QUOTENAME(@dropName), N' was not made by Redial: kept.');
        CONTINUE;
    END;
    IF @dropKind = N'TABLE'
    BEGIN
        SET @dropStatement = CONCAT(N'IF EXISTS (SELECT 1 FROM ', N'[etl].', QUOTENAME(@dropName), N') SET @ours = 0;');
        EXECUTE sys.sp_executesql @dropStatement, N'@ours bit OUTPUT', @ours = @dropOurs OUTPUT;
        IF @dropOurs = 0
        BEGIN
            PRINT CONCAT(N'Table [etl].', QUOTENAME(@dropName), N' is of an earlier choice and has rows: kept.');
            CONTINUE;
        END;
    END;

    BEGIN TRANSACTION;
    IF @dropKind IN (N'TABLE', N'TYPE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'etl', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    SET @dropStatement = CONCAT(N'DROP ', @dropKind, N' ', N'[etl].', QUOTENAME(@dropName), N';');
    EXECUTE sys.sp_executesql @dropStatement;
    COMMIT TRANSACTION;
END;

/* Versions of the contract that are no longer listed. The target service lets go of one when no
   conversation is on it: what ALTER SERVICE .. DROP CONTRACT does to those is told in two ways (F-193). */
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl'));
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
  AND s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target'
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/etl/contract')
  AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.service_contract_id = sc.service_contract_id);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @statement = CONCAT(N'ALTER SERVICE ', N'[//redial/etl/target]', N' (DROP CONTRACT ', QUOTENAME(@name), N');');
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
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/etl/initiator', N'//redial/etl/target');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'CONTRACT', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_contracts AS x ON x.service_contract_id = ep.major_id
WHERE ep.class = 16
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/etl/contract');
INSERT INTO @released (Kind, Class, Id, Name)
SELECT N'MESSAGE TYPE', ep.class, ep.major_id, x.name
FROM sys.extended_properties AS ep
INNER JOIN sys.service_message_types AS x ON x.message_type_id = ep.major_id
WHERE ep.class = 15
  AND ep.name = @mark
  AND x.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/etl/event', N'EndOfStream');

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
        SET @releaseStatement = CONCAT(N'REVOKE REFERENCES ON ', @releaseKind, N'::', QUOTENAME(@releaseName), N' FROM ', N'[etl_module]', N';');
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
WHERE q.schema_id = SCHEMA_ID(N'etl')
  AND q.name NOT IN (N'InitiatorQueue', N'TargetQueue', N'TroubleQueue')
  AND NOT EXISTS (SELECT 1
                  FROM sys.internal_tables AS it
                  INNER JOIN sys.partitions AS p ON p.object_id = it.object_id
                  WHERE it.parent_object_id = q.object_id AND p.rows > 0);

WHILE EXISTS (SELECT 1 FROM @old)
BEGIN
    SELECT TOP (1) @name = o.Name FROM @old AS o;
    DELETE FROM @old WHERE Name = @name;
    SET @queue = CONCAT(N'[etl].', QUOTENAME(@name));
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
            @level0name = N'etl', @level1type = N'QUEUE', @level1name = @name;
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
    (LEFT(CONCAT(N'Redial etl: retire, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial etl: health, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial etl: purge landing, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial etl: purge inbox, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial etl: purge poison, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial etl: purge logs, ', DB_NAME()), 128)),
    (LEFT(CONCAT(N'Redial etl: purge send ledger, ', DB_NAME()), 128));
DECLARE @job nvarchar(128);
DECLARE @kind nvarchar(60);
DECLARE @lastJob nvarchar(128) = N'';
WHILE 1 = 1
BEGIN
    SET @job = NULL;
    SELECT TOP (1) @job = o.Name, @kind = o.Kind
    FROM [etl].[OwnedObject] AS o
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
        DELETE FROM [etl].[OwnedObject] WHERE Kind = @kind AND Name = @job;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
            DELETE FROM [etl].[OwnedObject] WHERE Kind = @kind AND Name = @job;
        ELSE
            PRINT CONCAT(@kind, N' "', @job, N'" is of an earlier choice and was not deleted: ', ERROR_MESSAGE());
    END CATCH;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* One row per change of content: deploying the same scripts again adds none. */
IF ISNULL((SELECT TOP (1) h.ContentHash FROM [etl].[DeploymentHistory] AS h
           ORDER BY h.DeploymentId DESC), N'') <> N'cb921dde8c51202a0d94faa7b0e2c4782e553ed2939af7a746c7ccdd9ebe9b5c'
BEGIN
    INSERT INTO [etl].[DeploymentHistory] (ConfigName, Version, ContentHash)
    VALUES (N'etl', N'0.1.0', N'cb921dde8c51202a0d94faa7b0e2c4782e553ed2939af7a746c7ccdd9ebe9b5c');
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
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
    (N'retire', N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;', 5),
    (N'health', N'EXECUTE [etl].[usp_CheckHealth];', 15),
    (N'purge landing', N'EXECUTE [etl].[usp_PurgeLanding] @WhatIf = 0;', 0),
    (N'purge inbox', N'EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;', 0),
    (N'purge poison', N'EXECUTE [etl].[usp_PurgePoison] @WhatIf = 0;', 0),
    (N'purge logs', N'EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;', 0),
    (N'purge send ledger', N'EXECUTE [etl].[usp_PurgeSendLedger] @WhatIf = 0;', 0);
WHILE EXISTS (SELECT 1 FROM @jobs)
BEGIN
    SELECT TOP (1) @task = j.Task, @command = j.Command, @minutes = j.Minutes FROM @jobs AS j ORDER BY j.Task;
    DELETE FROM @jobs WHERE Task = @task;
    SELECT @job = LEFT(CONCAT(N'Redial etl: ', @task, N', ', @database), 128),
        @often = CASE @minutes WHEN 0 THEN N'once a day' ELSE CONCAT(N'every ', @minutes, N' minutes') END,
        @step = CONCAT(N'DECLARE @database sysname = N''', REPLACE(@database, N'''', N''''''), N''', @work nvarchar(max) = N''',
            N'IF IS_SRVROLEMEMBER(N''''sysadmin'''') = 1 EXECUTE AS USER = N''''etl_module'''';', N' ', REPLACE(@command, N'''', N''''''), N''';', N'
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
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @owner_login_name = @owner, @description = N'Redial 0.1.0, configuration etl';
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

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
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
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
/* The choices installed from here on, and the gate that 29_change has closed, in one transaction: a
   deployment that stops before it is still the change of choices it was. Changes only what differs. */
SET XACT_ABORT ON;

DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N'config_id', N'1', 1),
    (N'conversation.key', N'pool', 1),
    (N'conversation.recycle', N'aged_out', 1),
    (N'conversation.timer_strategy', N'two_phase', 1),
    (N'conversation.order', N'conversation', 1),
    (N'conversation.delivery', N'exactly_once', 1),
    (N'conversation.copies', N'until_landed', 1),
    (N'envelope.who', N'0', 1),
    (N'contract.end_of_stream', N'EndOfStream', 1),
    (N'services.initiator', N'//redial/etl/initiator', 1),
    (N'services.target', N'//redial/etl/target', 1),
    (N'queues.initiator', N'InitiatorQueue', 1),
    (N'queues.target', N'TargetQueue', 1),
    (N'target.database', N'', 1),
    (N'pool.size', N'16', 0),
    (N'target.processing', N'land', 0),
    (N'conversation.encryption', N'0', 0),
    (N'conversation.lifetime_seconds', N'604800', 0),
    (N'contract.name', N'//redial/etl/contract', 0),
    (N'roles.module', N'etl_module', 0);

BEGIN TRANSACTION;
UPDATE st
SET Value = w.Value, ChangedUtc = SYSUTCDATETIME()
FROM [etl].[Setting] AS st
INNER JOIN @wanted AS w ON w.Name = st.Name
WHERE st.Value IS NULL OR st.Value <> w.Value COLLATE Latin1_General_BIN2;   /* as 29_change compares (F-376) */

INSERT INTO [etl].[Setting] (Name, Value)
SELECT w.Name, w.Value
FROM @wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = w.Name);

IF EXISTS (SELECT 1 FROM [etl].[Setting] AS st WHERE st.Name = N'deployment.gate')
BEGIN
    /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
    UPDATE g
    SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment finished'
    FROM [etl].[Gate] AS g
    WHERE g.ConfigId = 1;
    DELETE FROM [etl].[Setting] WHERE Name = N'deployment.gate';
END;
COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) = N'cb921dde8c51202a 9')
    THROW 50220, N'NOT installed: the look whether all is there has not passed, see its error.', 127;
DECLARE @property int;
EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.files', @level0type = N'SCHEMA', @level0name = N'etl';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
PRINT N'Redial 0.1.0, configuration etl: installed.';
GO
SET NOEXEC OFF;
GO
