SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Is a name we need somebody else's? A schema that was there before, dbo say, may hold a table, view, procedure
   or type of an application: the script of a module would replace it, that of a table would take it for ours,
   and a later purge would drop it. Names of every choice are asked for, for a choice may change. */
DECLARE @foreign TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Shown nvarchar(400) NOT NULL);
DECLARE @names nvarchar(1200) = N'';
DECLARE @refusal nvarchar(2048);
DECLARE @count int;
DECLARE @ordinal int = 1;
DECLARE @before bit = 0;
IF EXISTS (SELECT 1 FROM sys.objects AS o
              WHERE o.object_id = OBJECT_ID(N'[logging].[DeploymentHistory]', N'U') AND EXISTS (SELECT 1 FROM (VALUES (N'ConversationLog', N'EndOfStreamUtc'), (N'DeadLetter', N'MessageSequence'), (N'DeploymentHistory', N'ContentHash'),
            (N'ErrorLog', N'ConversationHandle'), (N'Gate', N'IsOpen'), (N'IdleWatch', N'SendSequence'), (N'Inbox', N'Repeats'),
            (N'KeySequence', N'LastSequence'), (N'Landing', N'LandedUtc'), (N'LandingAcknowledged', N'UpTo'),
            (N'Migration', N'AppliedUtc'), (N'OperatorLog', N'OperatorLogId'), (N'OwnedObject', N'Kind'),
            (N'PoisonAttempt', N'Attempts'), (N'SessionConversations', N'Handle'), (N'Setting', N'ChangedUtc')) AS f(Name, ColumnName)
            INNER JOIN sys.columns AS col ON col.object_id = o.object_id AND col.name = f.ColumnName
            INNER JOIN sys.key_constraints AS kc ON kc.parent_object_id = o.object_id AND kc.name = N'PK_' + f.Name
            WHERE f.Name = o.name)
                AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[logging].[DeploymentHistory]')))
    SET @before = 1;        /* an installation whose tables have no mark yet: migration 6 gives it to them */

/* A type_desc has a collation of its own, see 05_01. */
INSERT INTO @foreign (Shown)
SELECT CONCAT(LOWER(REPLACE(o.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')), N' ',
    N'[logging].', QUOTENAME(o.name))
FROM (VALUES
    (N'table', N'ConversationLog'),
    (N'table', N'DeadLetter'),
    (N'table', N'DeploymentHistory'),
    (N'table', N'ErrorLog'),
    (N'table', N'Everlasting'),
    (N'table', N'Gate'),
    (N'table', N'IdleWatch'),
    (N'table', N'Inbox'),
    (N'table', N'KeySequence'),
    (N'table', N'Landing'),
    (N'table', N'LandingAcknowledged'),
    (N'table', N'Migration'),
    (N'table', N'OperatorLog'),
    (N'view', N'Outbox'),
    (N'trigger', N'Outbox_Insert'),
    (N'table', N'OwnedObject'),
    (N'table', N'PoisonAttempt'),
    (N'table', N'SendLedger'),
    (N'table', N'SentMessage'),
    (N'table', N'SessionConversations'),
    (N'table', N'Setting'),
    (N'table', N'SkippedNumber'),
    (N'function', N'ufn_Conversations'),
    (N'function', N'ufn_HealthBroker'),
    (N'function', N'ufn_HealthConversations'),
    (N'function', N'ufn_HealthData'),
    (N'function', N'ufn_HealthPending'),
    (N'function', N'ufn_HealthQueues'),
    (N'function', N'ufn_Leaked'),
    (N'function', N'ufn_Pending'),
    (N'function', N'ufn_QueuePages'),
    (N'function', N'ufn_Queues'),
    (N'function', N'ufn_ReadBatch'),
    (N'function', N'ufn_ReadEnvelope'),
    (N'function', N'ufn_WriteEnvelope'),
    (N'procedure', N'usp_AcknowledgeLanding'),
    (N'procedure', N'usp_AcquireConversation'),
    (N'procedure', N'usp_ArmTimer'),
    (N'procedure', N'usp_BeginConversation'),
    (N'procedure', N'usp_BeginPartition'),
    (N'procedure', N'usp_CheckHealth'),
    (N'procedure', N'usp_CloseDialogs'),
    (N'procedure', N'usp_CloseEverlasting'),
    (N'procedure', N'usp_CloseGate'),
    (N'procedure', N'usp_Drain'),
    (N'procedure', N'usp_EndLeaked'),
    (N'procedure', N'usp_EndLeakedOne'),
    (N'procedure', N'usp_EndPartition'),
    (N'procedure', N'usp_FindPoison'),
    (N'procedure', N'usp_Health'),
    (N'procedure', N'usp_InTheWay'),
    (N'procedure', N'usp_LandBatch'),
    (N'procedure', N'usp_LandRow'),
    (N'procedure', N'usp_LogError'),
    (N'procedure', N'usp_MoveCopies'),
    (N'procedure', N'usp_OpenGate'),
    (N'procedure', N'usp_PurgeDeadLetter'),
    (N'procedure', N'usp_PurgeInbox'),
    (N'procedure', N'usp_PurgeLanding'),
    (N'procedure', N'usp_PurgeLogs'),
    (N'procedure', N'usp_PurgePoison'),
    (N'procedure', N'usp_PurgeSendLedger'),
    (N'procedure', N'usp_QueueTrouble'),
    (N'procedure', N'usp_ReadErrorBody'),
    (N'procedure', N'usp_RecordPoison'),
    (N'procedure', N'usp_RecycleConversation'),
    (N'procedure', N'usp_RecycleInOneTransaction'),
    (N'procedure', N'usp_ReopenGate'),
    (N'procedure', N'usp_ReorganizeQueue'),
    (N'procedure', N'usp_ReplayDeadLetter'),
    (N'procedure', N'usp_Resend'),
    (N'procedure', N'usp_ResendPending'),
    (N'procedure', N'usp_ResendStranded'),
    (N'procedure', N'usp_RetireIdle'),
    (N'procedure', N'usp_SeesPending'),
    (N'procedure', N'usp_Send'),
    (N'procedure', N'usp_SendBatch'),
    (N'procedure', N'usp_SendEndOfStream'),
    (N'procedure', N'usp_SenderActivation'),
    (N'procedure', N'usp_SendMessages'),
    (N'procedure', N'usp_SendPrivately'),
    (N'procedure', N'usp_StartQueue'),
    (N'procedure', N'usp_TargetActivation'),
    (N'procedure', N'usp_WaitForEnds'),
    (N'procedure', N'usp_WaitForSlot'),
    (N'view', N'vw_Conversations'),
    (N'view', N'vw_DeadLetters'),
    (N'view', N'vw_Errors'),
    (N'view', N'vw_FailedConversations'),
    (N'view', N'vw_Pending'),
    (N'view', N'vw_Queues'),
    (N'view', N'vw_Unlanded'),
    (N'queue', N'InitiatorQueue'),
    (N'queue', N'TargetQueue')
) AS k(Kind, Name)
INNER JOIN sys.objects AS o ON o.schema_id = SCHEMA_ID(N'logging') AND o.name = k.Name
WHERE ISNULL(CASE o.type WHEN 'U' THEN N'table' WHEN 'SQ' THEN N'queue' WHEN 'P' THEN N'procedure' WHEN 'V' THEN N'view'
              WHEN 'TR' THEN N'trigger' WHEN 'IF' THEN N'function' WHEN 'TF' THEN N'function' WHEN 'FN' THEN N'function' END, N'') <> k.Kind
   OR CASE WHEN (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %')) THEN 1
           WHEN @before = 1 AND o.type = 'U' AND EXISTS (SELECT 1 FROM (VALUES (N'ConversationLog', N'EndOfStreamUtc'), (N'DeadLetter', N'MessageSequence'), (N'DeploymentHistory', N'ContentHash'),
            (N'ErrorLog', N'ConversationHandle'), (N'Gate', N'IsOpen'), (N'IdleWatch', N'SendSequence'), (N'Inbox', N'Repeats'),
            (N'KeySequence', N'LastSequence'), (N'Landing', N'LandedUtc'), (N'LandingAcknowledged', N'UpTo'),
            (N'Migration', N'AppliedUtc'), (N'OperatorLog', N'OperatorLogId'), (N'OwnedObject', N'Kind'),
            (N'PoisonAttempt', N'Attempts'), (N'SessionConversations', N'Handle'), (N'Setting', N'ChangedUtc')) AS f(Name, ColumnName)
            INNER JOIN sys.columns AS col ON col.object_id = o.object_id AND col.name = f.ColumnName
            INNER JOIN sys.key_constraints AS kc ON kc.parent_object_id = o.object_id AND kc.name = N'PK_' + f.Name
            WHERE f.Name = o.name) THEN 1
           WHEN @before = 1 AND o.type = 'SQ' AND (EXISTS (SELECT 1 FROM sys.services AS s
             INNER JOIN sys.extended_properties AS ep ON ep.class = 17 AND ep.major_id = s.service_id
             WHERE s.service_queue_id = o.object_id AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
     OR EXISTS (SELECT 1 FROM sys.service_queues AS sq
                WHERE sq.object_id = o.object_id
                  AND OBJECT_ID(sq.activation_procedure, N'P') IN (OBJECT_ID(N'[logging].[usp_SenderActivation]', N'P'), OBJECT_ID(N'[logging].[usp_TargetActivation]', N'P')))) THEN 1
           ELSE 0 END = 0
ORDER BY o.name;

INSERT INTO @foreign (Shown)
SELECT CONCAT(N'type ', N'[logging].', QUOTENAME(t.name))
FROM (VALUES
    (N'MessageBatch'),
    (N'ReceivedBatch')
) AS k(Name)
INNER JOIN sys.types AS t ON t.schema_id = SCHEMA_ID(N'logging') AND t.name = k.Name
WHERE NOT (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made')
           OR (@before = 1 AND EXISTS (SELECT 1 FROM sys.table_types AS tt
            INNER JOIN sys.columns AS col ON col.object_id = tt.type_table_object_id
            WHERE tt.user_type_id = t.user_type_id
              AND ((tt.name = N'MessageBatch' AND col.name = N'MessageKey') OR (tt.name = N'ReceivedBatch' AND col.name = N'MessageSequence')))));

/* A priority can have no mark (F-190): what is ours is written down in OwnedObject. Asked by a text of its own:
   a statement over a column that is not there would stop all of this from being compiled. */
IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/initiator')
BEGIN
    SET @count = 0;
    IF COL_LENGTH(N'[logging].[OwnedObject]', N'Kind') IS NOT NULL AND COL_LENGTH(N'[logging].[OwnedObject]', N'Name') IS NOT NULL
        EXECUTE sys.sp_executesql
            N'SELECT @count = COUNT(*) FROM [logging].[OwnedObject] AS o WHERE o.Kind = N''BROKER PRIORITY'' AND o.Name = @name;',
            N'@name nvarchar(128), @count int OUTPUT', @name = N'redial/logging/initiator', @count = @count OUTPUT;
    IF @count = 0
        INSERT INTO @foreign (Shown)
        VALUES (N'broker priority [redial/logging/initiator]');
END;
IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/logging/target')
BEGIN
    SET @count = 0;
    IF COL_LENGTH(N'[logging].[OwnedObject]', N'Kind') IS NOT NULL AND COL_LENGTH(N'[logging].[OwnedObject]', N'Name') IS NOT NULL
        EXECUTE sys.sp_executesql
            N'SELECT @count = COUNT(*) FROM [logging].[OwnedObject] AS o WHERE o.Kind = N''BROKER PRIORITY'' AND o.Name = @name;',
            N'@name nvarchar(128), @count int OUTPUT', @name = N'redial/logging/target', @count = @count OUTPUT;
    IF @count = 0
        INSERT INTO @foreign (Shown)
        VALUES (N'broker priority [redial/logging/target]');
END;

SET @count = (SELECT COUNT(*) FROM @foreign);
IF @count > 0
BEGIN
    WHILE @ordinal <= 5 AND EXISTS (SELECT 1 FROM @foreign AS f WHERE f.Ordinal = @ordinal)
    BEGIN
        SELECT @names = @names + CASE @ordinal WHEN 1 THEN N'' ELSE N', ' END + LEFT(f.Shown, 200) FROM @foreign AS f WHERE f.Ordinal = @ordinal;
        SET @ordinal = @ordinal + 1;
    END;
    IF @count > 5
        SET @names = CONCAT(@names, N' and ', @count - 5, N' more');
    SET @refusal = REPLACE(LEFT(CONCAT(N'There already, and not made by Redial: ', @names,
        N'. A deployment would replace it and a removal drop it. Nothing was done. Next: a schema of its own for configuration logging ([schema] in its file), render, deploy; or rename what is there.'), 2000), N'%', N'%%');   /* F-133 */
    THROW 50208, @refusal, 1;
END;
GO
