SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
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
    (N'TABLE', N'Everlasting'), (N'TABLE', N'Inbox'), (N'TABLE', N'SendLedger'), (N'PROCEDURE', N'usp_BeginPartition'),
    (N'PROCEDURE', N'usp_CloseEverlasting'), (N'PROCEDURE', N'usp_EndPartition'), (N'PROCEDURE', N'usp_PurgeInbox'),
    (N'PROCEDURE', N'usp_PurgeSendLedger'), (N'PROCEDURE', N'usp_QueueTrouble'),
    (N'PROCEDURE', N'usp_RecycleInOneTransaction'), (N'PROCEDURE', N'usp_SeesPending'),
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
        /* Asked first: a deployment that stopped before 81_activation left a queue without any, and what
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
