/* F-485: Five rollbacks in a row while another transaction has received from the queue: does a task
   wait for Sch-M behind it, or is the queue off at once? And with POISON_MESSAGE_HANDLING OFF?
   Settles poisoned_queue_goes_off = behind readers | at once and
   poison_task_without_handling = true | false.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_poisoned_queue_goes_off') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_poisoned_queue_goes_off;
GO
USE RedialProbe_poisoned_queue_goes_off;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE QUEUE dbo.OffQueue WITH POISON_MESSAGE_HANDLING (STATUS = OFF);
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
CREATE SERVICE [//probe/off] ON QUEUE dbo.OffQueue ([DEFAULT]);
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
/* Two conversations in the queue of a service; the second session holds one for eight seconds,
   the other is received and rolled back five times. Then: does anybody wait for Sch-M? */
CREATE PROCEDURE dbo.ProbePoison @service nvarchar(256), @queue sysname, @waits bit OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @h uniqueidentifier, @sql nvarchar(max), @round int = 0;
    WHILE @round < 2
    BEGIN
        SET @round += 1;
        BEGIN DIALOG CONVERSATION @h
            FROM SERVICE [//probe/from] TO SERVICE @service WITH ENCRYPTION = OFF;
        SEND ON CONVERSATION @h (0x01);
    END;
    WAITFOR DELAY '00:00:01';
    SET @sql = CONCAT(N'BEGIN TRANSACTION; RECEIVE TOP (1) * FROM dbo.', @queue,
        N'; WAITFOR DELAY ''00:00:08''; COMMIT TRANSACTION;');
    EXECUTE dbo.ProbeSecondSession @sql;
    WAITFOR DELAY '00:00:02';
    SET @sql = CONCAT(N'BEGIN TRANSACTION; RECEIVE TOP (1) * FROM dbo.', @queue,
        N'; ROLLBACK TRANSACTION;');
    SET @round = 0;
    WHILE @round < 5
    BEGIN
        SET @round += 1;
        EXECUTE sys.sp_executesql @sql;
    END;
    WAITFOR DELAY '00:00:02';
    SET @waits = CASE WHEN EXISTS (
        SELECT 1
        FROM sys.dm_tran_locks AS l
        WHERE l.resource_database_id = DB_ID()
          AND l.request_mode = N'Sch-M' AND l.request_status = N'WAIT') THEN 1 ELSE 0 END;
    WAITFOR DELAY '00:00:08';
END;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400), @waits bit, @without bit, @on bit;
EXECUTE dbo.ProbePoison N'//probe/to', N'ToQueue', @waits OUTPUT;
SELECT @on = q.is_receive_enabled FROM sys.service_queues AS q WHERE q.name = N'ToQueue';
EXECUTE dbo.ProbePoison N'//probe/off', N'OffQueue', @without OUTPUT;
SET @observed = CASE @waits WHEN 1 THEN N'behind the reader' ELSE N'no task waits' END
    + CASE @on WHEN 1 THEN N', and the queue stays on' ELSE N', and the queue is off' END
    + CASE @without WHEN 1 THEN N'; handling off: a task waits, too'
                    ELSE N'; handling off: no task waits' END;
SET @settles = CASE
    WHEN @on = 1 THEN NULL
    WHEN @waits = 0 THEN N'poisoned_queue_goes_off=at once'
    WHEN @without = 1
        THEN N'poisoned_queue_goes_off=behind readers;poison_task_without_handling=true'
    ELSE N'poisoned_queue_goes_off=behind readers;poison_task_without_handling=false' END;
SELECT
    N'F-485' AS Fact,
    N'Five rollbacks in a row while another transaction has received from the queue: does a' +
        N' task wait for Sch-M behind it, or is the queue off at once? And with' +
        N' POISON_MESSAGE_HANDLING OFF?' AS Question,
    N'behind the reader, and the queue is off; handling off: a task waits, too' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_poisoned_queue_goes_off
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_poisoned_queue_goes_off;
GO
