/* F-126: Another transaction has ended a dialog and not committed: does a plain read of
   sys.conversation_endpoints wait?
   Settles endpoint_reads_wait = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_endpoint_reads_wait') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_endpoint_reads_wait;
GO
USE RedialProbe_endpoint_reads_wait;
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
DECLARE @sql nvarchar(max), @n int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SET @sql = CONCAT(N'BEGIN TRANSACTION; END CONVERSATION ''', @h,
    N'''; WAITFOR DELAY ''00:00:08''; ROLLBACK TRANSACTION;');
EXECUTE dbo.ProbeSecondSession @sql;
WAITFOR DELAY '00:00:03';
SET LOCK_TIMEOUT 500;
BEGIN TRY
    SELECT @n = COUNT(*) FROM sys.conversation_endpoints AS e;
    SELECT @observed = N'does not wait', @settles = N'endpoint_reads_wait=false';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
    IF ERROR_NUMBER() = 1222
        SET @settles = N'endpoint_reads_wait=true';
END CATCH;
SET LOCK_TIMEOUT -1;
SELECT
    N'F-126' AS Fact,
    N'Another transaction has ended a dialog and not committed: does a plain read of ' +
        N'sys.conversation_endpoints wait?' AS Question,
    N'does not wait' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_endpoint_reads_wait
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_endpoint_reads_wait;
GO
