SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Uninstall, keeping the data: no new sends, every dialog recycled and ended by its target, then the
   objects. Tables, roles and the schema stay (purge_data.sql removes them). Run again after a stop:
   each step looks at what is left.
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
        AND EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE LEFT(ct.name, 21) = N'redial_audit_signing_')
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
DECLARE @drops TABLE (Ordinal int NOT NULL PRIMARY KEY, Kind nvarchar(30) NOT NULL, Name sysname NOT NULL, IsOurs bit NOT NULL);
DECLARE @dropOrdinal int;
DECLARE @dropKind nvarchar(30);
DECLARE @dropName sysname;
DECLARE @dropOurs bit;
DECLARE @dropStatement nvarchar(600);

/* What sends, so that nothing new begins. An application's own object of such a name is left. */
DELETE FROM @drops;
INSERT INTO @drops (Ordinal, Kind, Name, IsOurs)
SELECT k.Ordinal, UPPER(k.Kind), k.Name,
    CASE WHEN CASE o.type WHEN 'U' THEN N'table' WHEN 'SQ' THEN N'queue' WHEN 'P' THEN N'procedure' WHEN 'V' THEN N'view'
              WHEN 'TR' THEN N'trigger' WHEN 'IF' THEN N'function' WHEN 'TF' THEN N'function' WHEN 'FN' THEN N'function' END = k.Kind
          AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %')) THEN 1 ELSE 0 END
FROM (VALUES
    (1, N'procedure', N'usp_Send'),
    (2, N'procedure', N'usp_SendBatch'),
    (3, N'view', N'Outbox'),
    (4, N'procedure', N'usp_SendMessages')
) AS k(Ordinal, Kind, Name)
INNER JOIN sys.objects AS o ON o.schema_id = SCHEMA_ID(N'audit') AND o.name = k.Name;

WHILE EXISTS (SELECT 1 FROM @drops)
BEGIN
    SELECT TOP (1) @dropOrdinal = d.Ordinal, @dropKind = d.Kind, @dropName = d.Name, @dropOurs = d.IsOurs
    FROM @drops AS d
    ORDER BY d.Ordinal;
    DELETE FROM @drops WHERE Ordinal = @dropOrdinal;

    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N'[audit].', QUOTENAME(@dropName), N' was not made by Redial: kept.');
        CONTINUE;
    END;

    SET @dropStatement = CONCAT(N'DROP ', @dropKind, N' ', N'[audit].', QUOTENAME(@dropName), N';');
    BEGIN TRANSACTION;
    IF @dropKind IN (N'TABLE', N'TYPE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'audit', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    EXECUTE sys.sp_executesql @dropStatement;
    COMMIT TRANSACTION;
END;


/* Agent jobs this configuration made. 14262: somebody has deleted it by hand. The table is asked for in
   an IF of its own: a statement over a missing table fails whatever its condition (F-195). */
IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NOT NULL
BEGIN
    DECLARE @job nvarchar(128);
    DECLARE @lastJob nvarchar(128) = N'';
    WHILE 1 = 1
    BEGIN
        SET @job = NULL;
        SELECT TOP (1) @job = o.Name
        FROM [audit].[OwnedObject] AS o
        WHERE o.Kind = N'AGENT JOB'
          AND o.Name > @lastJob
        ORDER BY o.Name;
        IF @job IS NULL
            BREAK;
        SET @lastJob = @job;

        BEGIN TRY
            /* As it was named, cut to 128 characters where the database's name is long. */
            IF @job = LEFT(CONCAT(LEFT(@job, CHARINDEX(N', ', @job) + 1), DB_NAME()), 128)
                EXECUTE msdb.dbo.sp_delete_job @job_name = @job;
            ELSE
                PRINT CONCAT(N'Agent job "', @job, N'" is of another database, this one was copied or renamed: not touched.');
            DELETE FROM [audit].[OwnedObject] WHERE Kind = N'AGENT JOB' AND Name = @job;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() = 14262       /* somebody has deleted it by hand */
                DELETE FROM [audit].[OwnedObject] WHERE Kind = N'AGENT JOB' AND Name = @job;
            ELSE
                THROW;
        END CATCH;
    END;

END;

DECLARE @initiator nvarchar(400) = N'//redial/audit/initiator';
DECLARE @target nvarchar(400) = N'//redial/audit/target';
DECLARE @message nvarchar(2048);
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
DECLARE @statement nvarchar(max);

/* Whoever is still inside a sending procedure. The mark tells the next deployment that the gate is its
   own to open again. */
IF OBJECT_ID(N'[audit].[Gate]', N'U') IS NOT NULL
   AND OBJECT_ID(N'[audit].[Setting]', N'U') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    UPDATE g
    SET IsOpen = 0, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'uninstall'
    FROM [audit].[Gate] AS g
    WHERE g.ConfigId = 1 AND g.IsOpen = 1;
    IF @@ROWCOUNT = 1
       AND NOT EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate')
        INSERT INTO [audit].[Setting] (Name, Value) VALUES (N'deployment.gate', N'uninstall');
    COMMIT TRANSACTION;
END;
DECLARE @lockTimeout int = @@LOCK_TIMEOUT;
DECLARE @handle uniqueidentifier;
DECLARE @hasRow bit;
DECLARE @open int = 1;
DECLARE @until datetime2(3) = SYSUTCDATETIME();
DECLARE @busy bit;
DECLARE @rows bigint;
DECLARE @copies int;
DECLARE @handles TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY, HasRow bit NOT NULL);

IF OBJECT_ID(N'[audit].[SessionConversations]', N'U') IS NULL
   OR OBJECT_ID(N'[audit].[ConversationLog]', N'U') IS NULL
    SET @open = 0;              /* a deployment that stopped before its tables has no dialog */
BEGIN TRY
    /* A row that is being made or in use by a sender is asked again; nothing waits longer than this. */
    SET LOCK_TIMEOUT 2000;
    SET @until = DATEADD(second, 60, SYSUTCDATETIME());
    WHILE @open > 0 AND SYSUTCDATETIME() < @until
    BEGIN
        SET @busy = 0;
        DELETE FROM @handles;

        BEGIN TRY
            /* Meets every row under a U lock, and so waits for every sender that has looked one up or is
               just making one: what it goes on to begin would not be seen below (F-196). */
            BEGIN TRANSACTION;
            SELECT @rows = COUNT_BIG(*)
            /* lint: allow SB13: every row is wanted, and the gate keeps new senders out */
            FROM [audit].[SessionConversations] AS sc
                WITH (UPDLOCK, ROWLOCK);
            COMMIT TRANSACTION;

            /* A dialog without a row is everlasting (key = single): its senders read the gate under a lock
               they keep to their end, so none is at work now that the gate is closed. */
            INSERT INTO @handles (Handle, HasRow)
            SELECT ce.conversation_handle, CASE WHEN sc.Handle IS NULL THEN 0 ELSE 1 END
            FROM sys.conversation_endpoints AS ce
            INNER JOIN sys.services AS s ON s.service_id = ce.service_id
            LEFT JOIN [audit].[ConversationLog] AS cl ON cl.Handle = ce.conversation_handle
            /* lint: allow SB13: as above */
            LEFT JOIN [audit].[SessionConversations] AS sc WITH (READCOMMITTEDLOCK) ON sc.Handle = ce.conversation_handle
            WHERE s.name COLLATE Latin1_General_BIN2 = @initiator
              AND ce.is_initiator = 1
              AND ce.state IN ('SO', 'CO')
              AND (sc.Handle IS NOT NULL OR (cl.Handle IS NOT NULL AND cl.EndOfStreamUtc IS NULL));
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
            SET @busy = 1;
        END CATCH;

        WHILE EXISTS (SELECT 1 FROM @handles AS h)
        BEGIN
            SELECT TOP (1) @handle = h.Handle, @hasRow = h.HasRow FROM @handles AS h;
            DELETE FROM @handles WHERE Handle = @handle;
            IF @hasRow = 1
            BEGIN
                IF OBJECT_ID(N'[audit].[usp_RecycleConversation]', N'P') IS NOT NULL
                    EXECUTE [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;
            END
            ELSE IF OBJECT_ID(N'[audit].[usp_SendEndOfStream]', N'P') IS NOT NULL
            BEGIN
                BEGIN TRY
                    BEGIN TRANSACTION;
                    /* Takes G, and so waits for whoever is just ending this dialog; then looks again. */
                    EXECUTE [audit].[usp_ArmTimer] @handle = @handle, @seconds = 86400;
                    IF EXISTS (SELECT 1 FROM [audit].[ConversationLog] AS cl
                               WHERE cl.Handle = @handle AND cl.EndOfStreamUtc IS NULL)
                        EXECUTE [audit].[usp_SendEndOfStream] @handle = @handle;
                    COMMIT TRANSACTION;
                END TRY
                BEGIN CATCH
                    IF XACT_STATE() <> 0
                        ROLLBACK TRANSACTION;
                    IF ERROR_NUMBER() NOT IN (1222, 8426, 8429)
                        THROW;
                END CATCH;
            END;
        END;

        /* The copies before the dialogs: a resend that is just moving them is waited for, and its new dialog
           is seen then. CLOSED rows are only the target's memory of replays (F-106) and do not count. */
        SET @copies = 0;
        BEGIN TRY
            IF OBJECT_ID(N'[audit].[SentMessage]', N'U') IS NOT NULL
                EXECUTE sys.sp_executesql N'SELECT @copies = COUNT(*) FROM (SELECT TOP (1) sm.MessageSequence FROM [audit].[SentMessage] AS sm) AS x;',
                    N'@copies int OUTPUT', @copies = @copies OUTPUT;
            SELECT @open = COUNT(*)
            FROM sys.conversation_endpoints AS ce
            INNER JOIN sys.services AS s ON s.service_id = ce.service_id
            WHERE s.name COLLATE Latin1_General_BIN2 IN (@initiator, @target)
              AND ce.state <> 'CD';
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222       /* a reader that lands a long batch may hold its endpoint (F-126) */
                THROW;
            SELECT @busy = 1, @copies = 1, @open = 0;      /* counts as one, below */
        END CATCH;
        IF @busy = 1
            SET @open = @open + 1;

        /* What was left by dialogs that somebody ended by hand goes out again, on dialogs that end. */
        IF @copies > 0 AND OBJECT_ID(N'[audit].[usp_ResendStranded]', N'P') IS NOT NULL
            EXECUTE [audit].[usp_ResendStranded] @olderThanSeconds = 0;
        IF @open = 0 AND @copies > 0
            SET @open = 1;

        IF @open > 0
            WAITFOR DELAY '00:00:00.500';
    END;
    SET LOCK_TIMEOUT @lockTimeout;      /* a script's SET outlives its batch (F-370) */
END TRY
BEGIN CATCH
    IF XACT_STATE() <> 0
        ROLLBACK TRANSACTION;
    SET LOCK_TIMEOUT @lockTimeout;
    THROW;
END CATCH;

IF @open > 0
BEGIN
    DECLARE @largest bigint = 0;        /* at most so many copies has a dialog that is gone */
    DECLARE @largestOf uniqueidentifier = '00000000-0000-0000-0000-000000000000', @firstCopy bigint;
    IF OBJECT_ID(N'[audit].[SentMessage]', N'U') IS NOT NULL
    BEGIN
        WHILE 1 = 1
        BEGIN
            SET @firstCopy = NULL;
            SELECT TOP (1) @largestOf = sm.ConversationId, @firstCopy = sm.MessageSequence
            FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId > @largestOf
            ORDER BY sm.ConversationId, sm.MessageSequence;
            IF @firstCopy IS NULL
                BREAK;
            SELECT @largest = MAX(sm.MessageSequence) - @firstCopy + 1      /* numbers step by 1 (F-452) */
            FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId = @largestOf
              AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                              WHERE ce.conversation_id = @largestOf AND ce.is_initiator = 1 AND ce.state IN ('SO', 'CO'))
            HAVING MAX(sm.MessageSequence) - @firstCopy >= @largest;
        END;
    END;
    /* The loop counts copies that are left as one endpoint. */
    SET @message = CONCAT(CASE WHEN @largest > 0 THEN N'Messages of dialogs that are gone have not landed' ELSE CONCAT(@open, N' conversation endpoints are still open') END,
        N', so nothing but usp_Send was dropped. Look at ', N'[audit].[ErrorLog] and at [audit].[usp_EndLeaked]',
        CASE WHEN @largest > 0 THEN N'; at [audit].[vw_Unlanded] for those messages, which EXECUTE [audit].[usp_ResendStranded] @olderThanSeconds = 0' END,
        CASE WHEN @largest > 100000 THEN CONCAT(N', @most = ', @largest) END,
        CASE WHEN @largest > 0 THEN N' sends again' END,
        CASE WHEN @largest > 100000 THEN N' (see first that there is room in the log for about three times their bytes)' END,
        N'; then run uninstall again.');
    SET @message = REPLACE(@message, N'%', N'%%');
    THROW 50140, @message, 1;
END;

/* An installation from before the marks gets them first, to be told from what is somebody else's. */
IF OBJECT_ID(N'[audit].[OwnedObject]', N'U') IS NOT NULL
BEGIN
    DECLARE @adoptLeft int = (SELECT COUNT(*) FROM [audit].[OwnedObject] AS o WHERE o.Kind IN (N'SERVICE', N'CONTRACT', N'MESSAGE TYPE'));
    DECLARE @adoptKind nvarchar(30);
    DECLARE @adoptName sysname;
    DECLARE @adoptClass tinyint;
    DECLARE @adoptId int;
    DECLARE @adoptStatement nvarchar(400);
    DECLARE @adoptMark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));

    /* From before: then the principals and the schema were made the same way. */
    IF @adoptLeft > 0
    BEGIN
        IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.made')
        BEGIN
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
                @level0type = N'USER', @level0name = N'audit_module';
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
        IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_sender')
                 AND ep.name = N'Redial.made')
        BEGIN
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
                @level0type = N'USER', @level0name = N'audit_sender';
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
        IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_operator')
                 AND ep.name = N'Redial.made')
        BEGIN
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
                @level0type = N'USER', @level0name = N'audit_operator';
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
        IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_reader')
                 AND ep.name = N'Redial.made')
        BEGIN
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
                @level0type = N'USER', @level0name = N'audit_reader';
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
        IF SCHEMA_ID(N'audit') IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'audit')
                 AND ep.name = N'Redial.made')
        BEGIN
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
                @level0type = N'SCHEMA', @level0name = N'audit';
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
        IF IS_ROLEMEMBER(N'db_owner', N'audit_module') = 1
           AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.db_owner')
        BEGIN
            EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.db_owner', @value = N'audit',
                @level0type = N'USER', @level0name = N'audit_module';
            IF ISNULL(@property, 1) <> 0
                THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        END;
    END;

    WHILE @adoptLeft > 0
    BEGIN
        SELECT TOP (1) @adoptKind = o.Kind, @adoptName = o.Name
        FROM [audit].[OwnedObject] AS o
        WHERE o.Kind IN (N'SERVICE', N'CONTRACT', N'MESSAGE TYPE');
        SET @adoptClass = CASE @adoptKind WHEN N'SERVICE' THEN 17 WHEN N'CONTRACT' THEN 16 ELSE 15 END;
        SET @adoptId = CASE @adoptClass
            WHEN 17 THEN (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = @adoptName)
            WHEN 16 THEN (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = @adoptName)
            ELSE (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = @adoptName) END;

        BEGIN TRANSACTION;
        IF @adoptId IS NOT NULL
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                           WHERE ep.class = @adoptClass AND ep.major_id = @adoptId AND ep.name = N'Redial.made')
            BEGIN
                EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
                    @level0type = @adoptKind, @level0name = @adoptName;
                IF ISNULL(@property, 1) <> 0
                    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
            END;
            IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                           WHERE ep.class = @adoptClass AND ep.major_id = @adoptId AND ep.name = @adoptMark)
            BEGIN
                EXECUTE @property = sys.sp_addextendedproperty @name = @adoptMark, @value = N'audit',
                    @level0type = @adoptKind, @level0name = @adoptName;
                IF ISNULL(@property, 1) <> 0
                    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
            END;
            IF @adoptClass <> 17
            BEGIN
                SET @adoptStatement = CONCAT(N'ALTER AUTHORIZATION ON ', @adoptKind, N'::', QUOTENAME(@adoptName), N' TO [dbo];');
                EXECUTE sys.sp_executesql @adoptStatement;
            END;
        END;
        DELETE FROM [audit].[OwnedObject] WHERE Kind = @adoptKind AND Name = @adoptName;
        COMMIT TRANSACTION;
        SET @adoptLeft = @adoptLeft - 1;
    END;
END;

IF EXISTS (SELECT 1 FROM sys.objects AS o
              WHERE o.object_id = OBJECT_ID(N'[audit].[DeploymentHistory]', N'U') AND EXISTS (SELECT 1 FROM (VALUES (N'ConversationLog', N'EndOfStreamUtc'), (N'DeadLetter', N'MessageSequence'), (N'DeploymentHistory', N'ContentHash'),
            (N'ErrorLog', N'ConversationHandle'), (N'Gate', N'IsOpen'), (N'IdleWatch', N'SendSequence'), (N'Inbox', N'Repeats'),
            (N'KeySequence', N'LastSequence'), (N'Landing', N'LandedUtc'), (N'LandingAcknowledged', N'UpTo'),
            (N'Migration', N'AppliedUtc'), (N'OperatorLog', N'OperatorLogId'), (N'OwnedObject', N'Kind'),
            (N'PoisonAttempt', N'Attempts'), (N'SessionConversations', N'Handle'), (N'Setting', N'ChangedUtc')) AS f(Name, ColumnName)
            INNER JOIN sys.columns AS col ON col.object_id = o.object_id AND col.name = f.ColumnName
            INNER JOIN sys.key_constraints AS kc ON kc.parent_object_id = o.object_id AND kc.name = N'PK_' + f.Name
            WHERE f.Name = o.name)
                AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[audit].[DeploymentHistory]')))
BEGIN
    DECLARE @unmarked TABLE (Kind nvarchar(30) NOT NULL, Name sysname NOT NULL, PRIMARY KEY (Kind, Name));
    DECLARE @unmarkedKind nvarchar(30);
    DECLARE @unmarkedName sysname;

    INSERT INTO @unmarked (Kind, Name)
    SELECT CASE o.type WHEN 'U' THEN N'TABLE' ELSE N'QUEUE' END, o.name
    FROM sys.objects AS o
    WHERE o.schema_id = SCHEMA_ID(N'audit')
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
             WHERE s.service_queue_id = o.object_id AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
     OR EXISTS (SELECT 1 FROM sys.service_queues AS sq
                WHERE sq.object_id = o.object_id
                  AND OBJECT_ID(sq.activation_procedure, N'P') IN (OBJECT_ID(N'[audit].[usp_SenderActivation]', N'P'), OBJECT_ID(N'[audit].[usp_TargetActivation]', N'P'))))))
      AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                      WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
    UNION ALL
    SELECT N'TYPE', t.name
    FROM sys.types AS t
    WHERE t.schema_id = SCHEMA_ID(N'audit')
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
        EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit', @level0type = N'SCHEMA',
            @level0name = N'audit', @level1type = @unmarkedKind, @level1name = @unmarkedName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    COMMIT TRANSACTION;
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
                + (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WHERE ce.service_contract_id = @releaseId)
            WHEN 15 THEN (SELECT COUNT(*) FROM sys.service_contract_message_usages AS u WHERE u.message_type_id = @releaseId)
            WHEN 17 THEN (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WHERE ce.service_id = @releaseId AND ce.state <> 'CD')
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
DELETE FROM @drops;
INSERT INTO @drops (Ordinal, Kind, Name, IsOurs)
SELECT k.Ordinal, UPPER(k.Kind), k.Name,
    CASE WHEN CASE o.type WHEN 'U' THEN N'table' WHEN 'SQ' THEN N'queue' WHEN 'P' THEN N'procedure' WHEN 'V' THEN N'view'
              WHEN 'TR' THEN N'trigger' WHEN 'IF' THEN N'function' WHEN 'TF' THEN N'function' WHEN 'FN' THEN N'function' END = k.Kind
          AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %')) THEN 1 ELSE 0 END
FROM (VALUES
    (1, N'view', N'Outbox'),
    (2, N'view', N'vw_Conversations'),
    (3, N'view', N'vw_DeadLetters'),
    (4, N'view', N'vw_Errors'),
    (5, N'view', N'vw_FailedConversations'),
    (6, N'view', N'vw_Pending'),
    (7, N'view', N'vw_Queues'),
    (8, N'view', N'vw_Unlanded'),
    (9, N'procedure', N'usp_AcknowledgeLanding'),
    (10, N'procedure', N'usp_AcquireConversation'),
    (11, N'procedure', N'usp_ArmTimer'),
    (12, N'procedure', N'usp_BeginConversation'),
    (13, N'procedure', N'usp_BeginPartition'),
    (14, N'procedure', N'usp_CheckMessages'),
    (15, N'procedure', N'usp_CloseEverlasting'),
    (16, N'procedure', N'usp_CloseGate'),
    (17, N'procedure', N'usp_Drain'),
    (18, N'procedure', N'usp_EndInitiator'),
    (19, N'procedure', N'usp_EndLeaked'),
    (20, N'procedure', N'usp_EndPartition'),
    (21, N'procedure', N'usp_EndTarget'),
    (22, N'procedure', N'usp_FindPoison'),
    (23, N'procedure', N'usp_Health'),
    (24, N'procedure', N'usp_LandBatch'),
    (25, N'procedure', N'usp_LandRow'),
    (26, N'procedure', N'usp_LogError'),
    (27, N'procedure', N'usp_MoveCopies'),
    (28, N'procedure', N'usp_OpenGate'),
    (29, N'procedure', N'usp_PurgeDeadLetter'),
    (30, N'procedure', N'usp_PurgeInbox'),
    (31, N'procedure', N'usp_PurgeLanding'),
    (32, N'procedure', N'usp_PurgeLogs'),
    (33, N'procedure', N'usp_PurgePoison'),
    (34, N'procedure', N'usp_PurgeSendLedger'),
    (35, N'procedure', N'usp_ReadErrorBody'),
    (36, N'procedure', N'usp_RecordPoison'),
    (37, N'procedure', N'usp_RecycleConversation'),
    (38, N'procedure', N'usp_RecycleInOneTransaction'),
    (39, N'procedure', N'usp_RehearseLanding'),
    (40, N'procedure', N'usp_ReplayDeadLetter'),
    (41, N'procedure', N'usp_ResendPending'),
    (42, N'procedure', N'usp_ResendStranded'),
    (43, N'procedure', N'usp_RetireIdle'),
    (44, N'procedure', N'usp_SeesPending'),
    (45, N'procedure', N'usp_Send'),
    (46, N'procedure', N'usp_SendBatch'),
    (47, N'procedure', N'usp_SendEndOfStream'),
    (48, N'procedure', N'usp_SenderActivation'),
    (49, N'procedure', N'usp_SendMessages'),
    (50, N'procedure', N'usp_SendPrivately'),
    (51, N'procedure', N'usp_TakeTurn'),
    (52, N'procedure', N'usp_TargetActivation'),
    (53, N'procedure', N'usp_WaitForServer'),
    (54, N'procedure', N'usp_WaitForSlot'),
    (55, N'function', N'ufn_Conversations'),
    (56, N'function', N'ufn_HealthBroker'),
    (57, N'function', N'ufn_HealthConversations'),
    (58, N'function', N'ufn_HealthData'),
    (59, N'function', N'ufn_Leaked'),
    (60, N'function', N'ufn_Pending'),
    (61, N'function', N'ufn_Queues'),
    (62, N'function', N'ufn_ReadBatch'),
    (63, N'function', N'ufn_ReadEnvelope')
) AS k(Ordinal, Kind, Name)
INNER JOIN sys.objects AS o ON o.schema_id = SCHEMA_ID(N'audit') AND o.name = k.Name;
INSERT INTO @drops (Ordinal, Kind, Name, IsOurs)
SELECT k.Ordinal, N'TYPE', k.Name,
    CASE WHEN EXISTS (SELECT 1 FROM sys.extended_properties AS ep
             WHERE ep.class = 6 AND ep.major_id = t.user_type_id AND ep.name = N'Redial.made') THEN 1 ELSE 0 END
FROM (VALUES
    (64, N'MessageBatch'),
    (65, N'ReceivedBatch')
) AS k(Ordinal, Name)
INNER JOIN sys.types AS t ON t.schema_id = SCHEMA_ID(N'audit') AND t.name = k.Name;

WHILE EXISTS (SELECT 1 FROM @drops)
BEGIN
    SELECT TOP (1) @dropOrdinal = d.Ordinal, @dropKind = d.Kind, @dropName = d.Name, @dropOurs = d.IsOurs
    FROM @drops AS d
    ORDER BY d.Ordinal;
    DELETE FROM @drops WHERE Ordinal = @dropOrdinal;

    IF @dropOurs = 0
    BEGIN
        PRINT CONCAT(N'[audit].', QUOTENAME(@dropName), N' was not made by Redial: kept.');
        CONTINUE;
    END;

    SET @dropStatement = CONCAT(N'DROP ', @dropKind, N' ', N'[audit].', QUOTENAME(@dropName), N';');
    BEGIN TRANSACTION;
    IF @dropKind IN (N'TABLE', N'TYPE', N'QUEUE')
    BEGIN
        /* First the mark, as elsewhere (F-190). */
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
            @level0name = N'audit', @level1type = @dropKind, @level1name = @dropName;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    EXECUTE sys.sp_executesql @dropStatement;
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
    WHERE LEFT(ct.name, 21) = N'redial_audit_signing_'
      AND LEN(ct.name) = 57   /* a GUID behind it: no other configuration's */
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
   AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WHERE ce.is_system = 0)
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.master_key';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    IF EXISTS (SELECT 1 FROM sys.symmetric_keys AS k WHERE k.name = N'##MS_DatabaseMasterKey##')
        DROP MASTER KEY;
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
