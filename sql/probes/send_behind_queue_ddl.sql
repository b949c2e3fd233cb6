/* F-486: Another transaction alters a queue and has not committed: does SEND wait when it is the
   queue its message goes into, and when it is the queue of the sender's own service?
   Settles send_behind_queue_ddl = waits | own queue | transmits.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_send_behind_queue_ddl') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_send_behind_queue_ddl;
GO
USE RedialProbe_send_behind_queue_ddl;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
/* The second session: an activated procedure that runs the statement it is sent. */
CREATE QUEUE dbo.WorkerQueue;
CREATE SERVICE [//probe/worker] ON QUEUE dbo.WorkerQueue ([DEFAULT]);
GO
CREATE PROCEDURE dbo.ProbeWorker AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @h uniqueidentifier, @type sysname, @body varbinary(max), @sql nvarchar(max);
    WAITFOR (RECEIVE TOP (1) @h = conversation_handle, @type = message_type_name,
                 @body = message_body
             FROM dbo.WorkerQueue), TIMEOUT 1000;
    IF @h IS NULL
        RETURN;
    END CONVERSATION @h;
    IF @type <> N'DEFAULT'
        RETURN;
    SET @sql = CONVERT(nvarchar(max), @body);
    EXECUTE sys.sp_executesql @sql;
END;
GO
CREATE PROCEDURE dbo.ProbeSecondSession @sql nvarchar(max) AS
BEGIN
    DECLARE @h uniqueidentifier;
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE [//probe/worker] TO SERVICE N'//probe/worker' WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @h (@sql);
END;
GO
ALTER QUEUE dbo.WorkerQueue WITH ACTIVATION
    (STATUS = ON, PROCEDURE_NAME = dbo.ProbeWorker, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
GO
/* The second session alters the queue and rolls back eight seconds later; how long does SEND take? */
CREATE PROCEDURE dbo.ProbeSend @queue sysname, @h uniqueidentifier, @ms int OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @sql nvarchar(max), @at datetime2(3);
    SET @sql = CONCAT(N'BEGIN TRANSACTION; ALTER QUEUE dbo.', @queue,
        N' WITH RETENTION = OFF; WAITFOR DELAY ''00:00:08''; ROLLBACK TRANSACTION;');
    EXECUTE dbo.ProbeSecondSession @sql;
    WAITFOR DELAY '00:00:03';
    SET @at = SYSUTCDATETIME();
    SEND ON CONVERSATION @h (0x01);
    SET @ms = DATEDIFF(millisecond, @at, SYSUTCDATETIME());
    WAITFOR DELAY '00:00:08';
END;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @target int, @own int, @arrived int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x00);
BEGIN TRY
    EXECUTE dbo.ProbeSend N'ToQueue', @h, @target OUTPUT;
    EXECUTE dbo.ProbeSend N'FromQueue', @h, @own OUTPUT;
    SELECT @arrived = COUNT(*) FROM dbo.ToQueue;
    SET @observed = CASE WHEN @target >= 3000 THEN N'waits' ELSE N'does not wait' END
        + N' for the target queue, '
        + CASE WHEN @own >= 3000 THEN N'waits' ELSE N'does not wait' END
        + CONCAT(N' for its own; arrived in the end: ', @arrived);
    SET @settles = CASE
        WHEN @arrived <> 3 THEN NULL
        WHEN @target >= 3000 THEN N'send_behind_queue_ddl=waits'
        WHEN @own >= 3000 THEN N'send_behind_queue_ddl=own queue'
        ELSE N'send_behind_queue_ddl=transmits' END;
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SELECT
    N'F-486' AS Fact,
    N'Another transaction alters a queue and has not committed: does SEND wait when it is the' +
        N' queue its message goes into, and when it is the queue of the sender''s own' +
        N' service?' AS Question,
    N'waits for the target queue, does not wait for its own; arrived in the end: 3' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_send_behind_queue_ddl
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_send_behind_queue_ddl;
GO
