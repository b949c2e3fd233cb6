SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 6: tables, types and queues of before get the mark that tells them from an application's own
   (F-362). One transaction for them all; a stop after it finds nothing left to mark. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [etl].[Migration] AS m WHERE m.Number = 6)
BEGIN
    DECLARE @property int;
    IF EXISTS (SELECT 1 FROM sys.objects AS o
                  WHERE o.object_id = OBJECT_ID(N'[etl].[DeploymentHistory]', N'U') AND EXISTS (SELECT 1 FROM (VALUES (N'ConversationLog', N'EndOfStreamUtc'), (N'DeadLetter', N'MessageSequence'), (N'DeploymentHistory', N'ContentHash'),
                (N'ErrorLog', N'ConversationHandle'), (N'Gate', N'IsOpen'), (N'IdleWatch', N'SendSequence'), (N'Inbox', N'Repeats'),
                (N'KeySequence', N'LastSequence'), (N'Landing', N'LandedUtc'), (N'LandingAcknowledged', N'UpTo'),
                (N'Migration', N'AppliedUtc'), (N'OperatorLog', N'OperatorLogId'), (N'OwnedObject', N'Kind'),
                (N'PoisonAttempt', N'Attempts'), (N'SessionConversations', N'Handle'), (N'Setting', N'ChangedUtc')) AS f(Name, ColumnName)
                INNER JOIN sys.columns AS col ON col.object_id = o.object_id AND col.name = f.ColumnName
                INNER JOIN sys.key_constraints AS kc ON kc.parent_object_id = o.object_id AND kc.name = N'PK_' + f.Name
                WHERE f.Name = o.name)
                    AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                     AND ep.major_id = OBJECT_ID(N'[etl].[DeploymentHistory]')))
    BEGIN
        DECLARE @unmarked TABLE (Kind nvarchar(30) NOT NULL, Name sysname NOT NULL, PRIMARY KEY (Kind, Name));
        DECLARE @unmarkedKind nvarchar(30);
        DECLARE @unmarkedName sysname;

        INSERT INTO @unmarked (Kind, Name)
        SELECT CASE o.type WHEN 'U' THEN N'TABLE' ELSE N'QUEUE' END, o.name
        FROM sys.objects AS o
        WHERE o.schema_id = SCHEMA_ID(N'etl')
          AND ((o.type = 'U' AND EXISTS (SELECT 1 FROM (VALUES (N'ConversationLog', N'EndOfStreamUtc'), (N'DeadLetter', N'MessageSequence'), (N'DeploymentHistory', N'ContentHash'),
                (N'ErrorLog', N'ConversationHandle'), (N'Gate', N'IsOpen'), (N'IdleWatch', N'SendSequence'), (N'Inbox', N'Repeats'),
                (N'KeySequence', N'LastSequence'), (N'Landing', N'LandedUtc'), (N'LandingAcknowledged', N'UpTo'),
                (N'Migration', N'AppliedUtc'), (N'OperatorLog', N'OperatorLogId'), (N'OwnedObject', N'Kind'),
                (N'PoisonAttempt', N'Attempts'), (N'SessionConversations', N'Handle'), (N'Setting', N'ChangedUtc')) AS f(Name, ColumnName)
                INNER JOIN sys.columns AS col ON col.object_id = o.object_id AND col.name = f.ColumnName
                INNER JOIN sys.key_constraints AS kc ON kc.parent_object_id = o.object_id AND kc.name = N'PK_' + f.Name
                WHERE f.Name = o.name))
               OR (o.type = 'SQ' AND (EXISTS (SELECT 1 FROM sys.services AS s
                 INNER JOIN sys.extended_properties AS ep ON ep.class = 17 AND ep.major_id = s.service_id
                 WHERE s.service_queue_id = o.object_id AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
         OR EXISTS (SELECT 1 FROM sys.service_queues AS sq
                    WHERE sq.object_id = o.object_id
                      AND OBJECT_ID(sq.activation_procedure, N'P') IN (OBJECT_ID(N'[etl].[usp_SenderActivation]', N'P'), OBJECT_ID(N'[etl].[usp_TargetActivation]', N'P'))))))
          AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                          WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
        UNION ALL
        SELECT N'TYPE', t.name
        FROM sys.types AS t
        WHERE t.schema_id = SCHEMA_ID(N'etl')
          AND EXISTS (SELECT 1 FROM sys.table_types AS tt
                INNER JOIN sys.columns AS col ON col.object_id = tt.type_table_object_id
                WHERE tt.user_type_id = t.user_type_id
                  AND ((tt.name = N'MessageBatch' AND col.name = N'MessageKey') OR (tt.name = N'ReceivedBatch' AND col.name = N'MessageSequence')))
          AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                          WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made');

        BEGIN TRANSACTION;
        WHILE EXISTS (SELECT 1 FROM @unmarked)
        BEGIN
            SELECT TOP (1) @unmarkedKind = u.Kind, @unmarkedName = u.Name FROM @unmarked AS u;
            DELETE FROM @unmarked WHERE Kind = @unmarkedKind AND Name = @unmarkedName;
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl', @level0type = N'SCHEMA',
                @level0name = N'etl', @level1type = @unmarkedKind, @level1name = @unmarkedName;
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
        COMMIT TRANSACTION;
    END;

    INSERT INTO [etl].[Migration] (Number, Name)
    VALUES (6, N'marks_in_schema');
END;
GO
