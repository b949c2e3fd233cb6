/* F-456: Another transaction has ended the target's side and not committed: does SEND from the
   initiator's side put its message into the queue, wait, or leave it to be transmitted?
   Settles send_over_open_end = enqueues | waits | transmits.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_send_over_open_end') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_send_over_open_end;
GO
USE RedialProbe_send_over_open_end;
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
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @sql nvarchar(max), @at datetime2(3), @ms int, @waiting int, @received int;
DECLARE @status nvarchar(4000);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x00);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 5000;
SET @sql = CONCAT(N'BEGIN TRANSACTION; END CONVERSATION ''', @t,
    N'''; WAITFOR DELAY ''00:00:08''; ROLLBACK TRANSACTION;');
EXECUTE dbo.ProbeSecondSession @sql;
WAITFOR DELAY '00:00:03';
SET @at = SYSUTCDATETIME();
BEGIN TRY
    SEND ON CONVERSATION @h (0x01);
    SET @ms = DATEDIFF(millisecond, @at, SYSUTCDATETIME());
    SELECT @waiting = COUNT(*), @status = MAX(q.transmission_status)
    FROM sys.transmission_queue AS q
    WHERE q.conversation_handle = @h;
    WAITFOR DELAY '00:00:08';
    RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue;
    SET @received = @@ROWCOUNT;
    SET @observed = CASE
        WHEN @ms >= 3000 THEN N'waits'
        WHEN @waiting = 1 THEN CONCAT(N'in the transmission queue: ', @status)
        ELSE N'does not wait' END
        + CONCAT(N'; received after the rollback: ', @received);
    SET @settles = CASE
        WHEN @received = 0 THEN NULL
        WHEN @ms >= 3000 THEN N'send_over_open_end=waits'
        WHEN @waiting = 1 THEN N'send_over_open_end=transmits'
        ELSE N'send_over_open_end=enqueues' END;
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SELECT
    N'F-456' AS Fact,
    N'Another transaction has ended the target''s side and not committed: does SEND from the' +
        N' initiator''s side put its message into the queue, wait, or leave it to be' +
        N' transmitted?' AS Question,
    N'does not wait; received after the rollback: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_send_over_open_end
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_send_over_open_end;
GO
