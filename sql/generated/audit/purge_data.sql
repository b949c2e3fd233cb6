SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it. Before it, with
   EXECUTE sys.sp_set_session_context N'redial.only_count', 1; it counts, refuses or not, and does no more.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
SET ROWCOUNT 0;                         /* SSMS can be told another: lists below would be cut (F-331) */

DECLARE @lacks nvarchar(200) = NULL;
DECLARE @refusal nvarchar(2048);
IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL'), 0) = 0
    SET @lacks = N'CONTROL on the database';
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.db_owner')
    SET @lacks = N'membership in db_owner (only members change that role, and a member is to be taken out)';
IF @lacks IS NOT NULL
BEGIN
    SET @refusal = REPLACE(CONCAT(N'User ', QUOTENAME(USER_NAME()), N' of database ', QUOTENAME(DB_NAME()),
        N' cannot remove configuration audit. Missing: ', @lacks,
        N'. Nothing was done. Next: have a member of db_owner run purge_data.sql, or let one run ALTER ROLE [db_owner] ADD MEMBER ',
        QUOTENAME(USER_NAME()), N';'), N'%', N'%%');   /* F-133 */
    THROW 50200, @refusal, 1;
END;

DECLARE @property int;
DECLARE @drops TABLE (Kind nvarchar(30) NOT NULL, Name sysname NOT NULL, PRIMARY KEY (Kind, Name));
DECLARE @dropKind nvarchar(30);
DECLARE @dropName sysname;
DECLARE @dropOurs bit;
DECLARE @dropStatement nvarchar(600);

DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));
DECLARE @message nvarchar(2048);
DECLARE @confirmed bigint = ISNULL(TRY_CONVERT(bigint, SESSION_CONTEXT(N'redial.purge_rows')), 0);
DECLARE @onlyCount bit = ISNULL(TRY_CONVERT(bit, SESSION_CONTEXT(N'redial.only_count')), 0);
DECLARE @total bigint;
DECLARE @table sysname = N'';
DECLARE @tableRows bigint;
DECLARE @data TABLE (Name sysname NOT NULL PRIMARY KEY, DataRows bigint NOT NULL);

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
IF @onlyCount = 0
   AND EXISTS (SELECT 1 FROM sys.objects AS o
           WHERE o.object_id IN (OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[audit].[TargetQueue]', N'SQ'))
             AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %')))
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;

/* What would be lost. Of the tables that hold data; who may lose how many rows says so in this session. */
INSERT INTO @data (Name, DataRows)
SELECT o.name, SUM(p.rows)
FROM sys.objects AS o
INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id IN (0, 1)
WHERE o.schema_id = SCHEMA_ID(N'audit') AND o.type = 'U' AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %'))
  AND o.name NOT IN (N'Gate', N'Setting', N'Migration', N'OwnedObject', N'DeploymentHistory', N'DeploymentAttempt', N'DeploymentText', N'OperatorLog', N'IdleWatch', N'LandingAcknowledged')
GROUP BY o.name
HAVING SUM(p.rows) > 0;

/* What a drain would still land: messages under way and in the queues, and the end of each open dialog. */
INSERT INTO @data (Name, DataRows)
SELECT w.Name, w.DataRows
FROM (SELECT N'messages under way' AS Name, COUNT_BIG(*) AS DataRows
      FROM sys.transmission_queue AS tq WITH (NOLOCK)       /* a sum to be told; waits for nobody */
      WHERE tq.from_service_name COLLATE Latin1_General_BIN2 IN (N'//redial/audit/initiator', N'//redial/audit/target')
      UNION ALL
      SELECT N'messages in queues', ISNULL(SUM(p.rows), 0)
      FROM sys.internal_tables AS it
      INNER JOIN sys.partitions AS p ON p.object_id = it.object_id AND p.index_id IN (0, 1)
      WHERE it.parent_object_id IN (OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[audit].[TargetQueue]', N'SQ'))
      UNION ALL
      SELECT N'ends of open dialogs', COUNT_BIG(*)
      FROM sys.conversation_endpoints AS ce WITH (NOLOCK)   /* as above */
      INNER JOIN sys.services AS s ON s.service_id = ce.service_id
      WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/audit/initiator', N'//redial/audit/target')
        AND ce.state <> 'CD') AS w
WHERE w.DataRows > 0;
SELECT @total = ISNULL(SUM(d.DataRows), 0) FROM @data AS d;
IF @total > @confirmed
BEGIN
    SET @message = CONCAT(N'purge_data.sql of configuration audit would drop ', @total, N' rows in database ', QUOTENAME(DB_NAME()), N': ');
    WHILE EXISTS (SELECT 1 FROM @data AS d WHERE d.Name > @table)
    BEGIN
        SELECT TOP (1) @table = d.Name, @tableRows = d.DataRows FROM @data AS d WHERE d.Name > @table ORDER BY d.Name;
        SET @message = LEFT(CONCAT(@message, @table, N' ', @tableRows, N', '), 1500);
    END;
    SET @message = REPLACE(CONCAT(@message, N'for good. Nothing was done. Next, if nobody needs them: EXECUTE sys.sp_set_session_context N''redial.purge_rows'', ', @total,
        N'; in this session, then this script again (redial uninstall: --purge-rows ', @total, N').'), N'%', N'%%');
    THROW 50143, @message, 1;
END;
IF @onlyCount = 1
    RETURN;

/* Every table of every choice that Redial made. */
INSERT INTO @drops (Kind, Name)
VALUES
    (N'TABLE', N'ConversationLog'), (N'TABLE', N'DeadLetter'), (N'TABLE', N'DeploymentAttempt'),
    (N'TABLE', N'DeploymentHistory'), (N'TABLE', N'DeploymentText'), (N'TABLE', N'ErrorLog'),
    (N'TABLE', N'Everlasting'), (N'TABLE', N'Gate'), (N'TABLE', N'HeldKey'), (N'TABLE', N'IdleWatch'),
    (N'TABLE', N'Inbox'), (N'TABLE', N'KeySequence'), (N'TABLE', N'Landing'), (N'TABLE', N'LandingAcknowledged'),
    (N'TABLE', N'Migration'), (N'TABLE', N'OperatorLog'), (N'TABLE', N'OwnedObject'), (N'TABLE', N'PoisonAttempt'),
    (N'TABLE', N'SendLedger'), (N'TABLE', N'SentMessage'), (N'TABLE', N'SessionConversations'), (N'TABLE', N'Setting'),
    (N'TABLE', N'SkippedNumber');
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
      AND o.type IN ('U', 'SQ')
      AND (EXISTS (SELECT 1 FROM sys.extended_properties AS ep
              WHERE ep.class = 1 AND ep.major_id = o.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made')
       OR EXISTS (SELECT 1 FROM sys.sql_modules AS sm
                  WHERE sm.object_id = o.object_id
                    AND sm.[definition] LIKE N'%* Redial [0-9]%, configuration %'))
      AND NOT EXISTS (SELECT 1 FROM sys.services AS s WHERE s.service_queue_id = o.object_id)
    ORDER BY CHARINDEX(RTRIM(o.type), 'U,SQ'), o.name;
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


/* What was there before the first deployment has no mark and stays. A role somebody is a member of is
   somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_sender')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'audit_sender';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_sender')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_sender')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_sender'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_sender')
                 AND ep.name = N'Redial.made')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'audit_sender';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
        DROP ROLE [audit_sender];
    END;
    COMMIT TRANSACTION;
END;

IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_operator')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'audit_operator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_operator')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_operator')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_operator'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_operator')
                 AND ep.name = N'Redial.made')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'audit_operator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
        DROP ROLE [audit_operator];
    END;
    COMMIT TRANSACTION;
END;

IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_reader')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'audit_reader';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_reader')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_reader')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_reader'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_reader')
                 AND ep.name = N'Redial.made')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'audit_reader';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
        DROP ROLE [audit_reader];
    END;
    COMMIT TRANSACTION;
END;

/* The membership first: a user that was there before keeps only what it had. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.db_owner')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'audit_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [audit_module];
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.db_owner')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.db_owner',
        @level0type = N'USER', @level0name = N'audit_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
END;

/* Schema and user go together or not at all: the mark of the user carries the schema's id. */
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'audit_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
IF SCHEMA_ID(N'audit') IS NOT NULL
BEGIN
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'audit')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'audit'))
       AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'audit'))
       AND NOT EXISTS (SELECT 1 FROM sys.xml_schema_collections AS x WHERE x.schema_id = SCHEMA_ID(N'audit'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'audit')
                 AND ep.name = N'Redial.made')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'SCHEMA', @level0name = N'audit';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
        DROP SCHEMA [audit];
    END
    ELSE IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'audit')
                 AND ep.name = N'Redial.made')
            AND EXISTS (SELECT 1 FROM sys.schemas AS s
                        WHERE s.name = N'audit'
                          AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'audit_module'))
        REVOKE CONTROL ON SCHEMA::[audit] FROM [audit_module];
END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.made')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'audit')))
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.made')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'audit_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
    DROP USER [audit_module];
END;
COMMIT TRANSACTION;
GO
